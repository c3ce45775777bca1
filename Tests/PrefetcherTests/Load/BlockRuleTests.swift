import ImageModel
import Testing

@testable import Prefetcher

struct BlockRuleTests {
    @Test(arguments: try ManagerVectors.read().blocking)
    func `the rule agrees with every row of the table`(row: ManagerVectors.Failure) {
        #expect(
            BlockRule.standard(FailureReason(domain: row.domain, code: row.code, message: "")) == row.blocks,
            "\(row.domain) \(row.code)")
    }

    @Test func `eight transport codes do not block; codes without a row follow their domain`() {
        for code in [-999, -1001, -1003, -1004, -1005, -1009, -1018, -1020] {
            #expect(!BlockRule.standard(FailureReason(domain: "NSURLErrorDomain", code: code, message: "")))
        }
        for code in [1002, 1003, 2000, 2001, 2002, 2003, 2004] {
            #expect(!BlockRule.standard(FailureReason(domain: "SDWebImageErrorDomain", code: code, message: "")))
        }
        #expect(BlockRule.standard(FailureReason(domain: "NSURLErrorDomain", code: -1, message: "")))
        #expect(!BlockRule.standard(FailureReason(domain: "LarderErrorDomain", code: 202, message: "")))
    }
}
