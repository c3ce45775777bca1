import Downloader
import ImageModel
import Testing

@testable import Prefetcher

/// Which failures put a URL on the blocklist.
struct BlockingTests {
    private func blocks(_ domain: String, _ code: Int) -> Bool {
        FailureSource().shouldBlock("", after: FailureReason(domain: domain, code: code, message: ""))
    }

    @Test(arguments: try ManagerVectors.read().blocking)
    func `SDWebImage's rows hold, but an invalid URL (1000) is never blocked`(row: ManagerVectors.Failure) {
        let isInvalidURL = row.domain == "SDWebImageErrorDomain" && row.code == 1000
        #expect(blocks(row.domain, row.code) == (row.blocks && !isInvalidURL), "\(row.domain) \(row.code)")
    }

    @Test func `eight transport codes do not block; codes without a row follow their domain`() {
        for code in [-999, -1001, -1003, -1004, -1005, -1009, -1018, -1020] {
            #expect(!blocks("NSURLErrorDomain", code))
        }
        for code in [1002, 1003, 2000, 2001, 2002, 2003, 2004] { #expect(!blocks("SDWebImageErrorDomain", code)) }
        #expect(blocks("NSURLErrorDomain", -1))
    }

    @Test func `a source, the downloader and the table of errors agree on every row`() {
        let downloader = ImageDownloader()
        for row in FailureClassification.all {
            // A code that has no row stands for the rest of its domain.
            let failure = FailureReason(domain: row.domain, code: row.code ?? 77, message: "")
            let expected = FailureClassification.of(failure).blocks
            #expect(FailureSource().shouldBlock("", after: failure) == expected, "\(failure)")
            #expect(downloader.shouldBlock("", after: failure) == expected, "\(failure)")
        }
    }
}

/// A source with the default rule.
private struct FailureSource: ImageSource {
    func canLoad(_ url: String) -> Bool { true }

    func load(
        _ request: FetchRequest, options: LoadOptions, into file: Int32
    ) async throws(LoadError) -> FetchResponse { throw LoadError.cancelled }
}
