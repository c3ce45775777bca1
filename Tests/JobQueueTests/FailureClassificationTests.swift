import ImageModel
import TestSupport
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct FailureClassificationTests {
    @Test func `the rows in Swift are the rows of the table in SQL`() async throws {
        let fixture = try await QueueFixture.make()
        let rows = try await fixture.sql(
            """
            SELECT domain, code, http_status, retried, blocks, extract(epoch FROM block_for)::int, counts_for_origin, then_code
            FROM larder_data.retry_rule
            """)
        let inSQL = Set(rows.map { row in row.map { $0 ?? "-" }.joined(separator: " ") })
        let inSwift = FailureClassification.all.map { row in
            let columns: [String?] = [
                row.domain, row.code.map(String.init), row.httpStatus.map(String.init), row.isRetried ? "t" : "f",
                row.blocks ? "t" : "f", String(row.blockDuration.components.seconds), row.countsForOrigin ? "t" : "f",
                row.secondCode.map(String.init),
            ]
            return columns.map { $0 ?? "-" }.joined(separator: " ")
        }
        #expect(inSwift.count == inSQL.count)
        #expect(Set(inSwift) == inSQL)
    }

    @Test func `the most specific row classifies a failure`() {
        let domain = "SDWebImageErrorDomain"
        #expect(FailureClassification.of(domain: domain, code: 2001, httpStatus: 503).isRetried)
        #expect(!FailureClassification.of(domain: domain, code: 2001, httpStatus: 404).isRetried)
        #expect(!FailureClassification.of(domain: domain, code: 2004, httpStatus: 503).isRetried)
        #expect(FailureClassification.of(domain: "NSURLErrorDomain", code: -1).blocks)
        #expect(!FailureClassification.of(domain: "NSURLErrorDomain", code: -1003).blocks)
        #expect(FailureClassification.of(domain: "LarderErrorDomain", code: 302).blockDuration == .seconds(30 * 86_400))
        #expect(!FailureClassification.of(domain: "AnotherDomain", code: 1).blocks)
    }
}
