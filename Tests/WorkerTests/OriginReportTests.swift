import Downloader
import ImageModel
import Testing

@testable import JobQueue
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

    @Test func `an open breaker is reported with the failure that opened it, and read again`() throws {
        let origin = try Origin(of: "http://127.0.0.1:9/a")
        let opened = OriginChange.opened(for: .seconds(60), OriginFailure(code: .badStatus, httpStatus: 502))
        let failure = FailureReason(domain: "SDWebImageErrorDomain", code: 2001, message: "")
        let report = OriginReport(origin: "http://127.0.0.1:9", .opened(.seconds(60), failure, httpStatus: 502))
        #expect(opened.report(of: origin) == report)
        let row = HeldOrigin(
            origin: report.origin, reason: .breaker, since: nil, age: .zero, remaining: .seconds(60), failure: failure,
            httpStatus: 502)
        #expect(OriginChange(row) == opened)
    }
}
