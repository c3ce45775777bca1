import Downloader
import ImageModel
import JobQueue
import Testing

@testable import Worker

/// Origins and their states as the queue stores them.
struct OriginReportTests {
    @Test func `the name of an origin in the queue has its port, and the origin is read from it`() throws {
        for (url, name) in [
            ("https://Example.com/a", "https://example.com:443"), ("http://[::1]:8080/", "http://[::1]:8080"),
            ("http://a.example./", "http://a.example:80"),
        ] {
            let origin = try Origin(of: url)
            #expect(origin.queueName == name)
            #expect(Origin(queueName: name) == origin)
        }
    }

    @Test func `an origin is not given up unless a number of probes is set`() throws {
        let downloader = ImageDownloader(FetchConfiguration())
        let opened = OriginChange.opened(
            for: .seconds(60), failedProbes: 1000, OriginFailure(code: .timedOut, httpStatus: nil))
        let reports = downloader.origins.reports([try Origin(of: "http://127.0.0.1:9/a"): [opened]])
        guard case .opened(_, 1000, givesUp: false, _, httpStatus: nil) = reports.first?.finding else {
            Issue.record("\(reports)")
            return
        }
    }

    @Test func `an origin that is given up is reported with the failure that opened its breaker`() throws {
        var configuration = FetchConfiguration()
        configuration.origins.probes = 0
        let downloader = ImageDownloader(configuration)
        let origin = try Origin(of: "http://127.0.0.1:9/a")
        let opened = OriginChange.opened(
            for: .seconds(60), failedProbes: 0, OriginFailure(code: .cannotConnect, httpStatus: nil))
        let reports = downloader.origins.reports([origin: [opened]])
        #expect(reports.map(\.origin) == ["http://127.0.0.1:9"])
        let failure = FailureReason(domain: "NSURLErrorDomain", code: -1004, message: "")
        #expect(
            reports.map(\.finding)
                == [.opened(.seconds(60), failedProbes: 0, givesUp: true, failure, httpStatus: nil)])
    }
}
