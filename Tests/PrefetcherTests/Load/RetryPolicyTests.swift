import ImageModel
import Testing

@testable import Prefetcher

@Suite(.timeLimit(.minutes(5)))
struct RetryPolicyTests {
    @Test(arguments: [(0, 1.0), (1, 4.0), (2, 16.0), (3, 64.0), (4, 256.0), (5, 900.0), (40, 900.0)])
    func `a wait is between 0 and base x 4^n, up to the cap`(retry: Int, seconds: Double) {
        var policy = RetryPolicy()
        policy.retries = 100
        #expect(policy.wait(before: retry, random: 1) == .seconds(seconds))
        #expect(policy.wait(before: retry, random: 0) == .zero)
        #expect(policy.wait(before: retry, random: 0.5) == .seconds(seconds / 2))
    }

    @Test func `there are three retries by default`() {
        let policy = RetryPolicy()
        #expect(policy.wait(before: 2, random: 0.1) != nil)
        #expect(policy.wait(before: 3, random: 0.1) == nil)
    }

    @Test func `Retry-After is honoured up to one hour`() {
        let policy = RetryPolicy()
        #expect(policy.wait(before: 0, retryAfter: .seconds(30), random: 0) == .seconds(30))
        #expect(policy.wait(before: 0, retryAfter: .seconds(9999), random: 0) == .seconds(3600))
    }

    @Test(arguments: [
        ("SDWebImageErrorDomain", 2001, 503, true), ("SDWebImageErrorDomain", 2001, 429, true),
        ("SDWebImageErrorDomain", 2001, 404, false), ("SDWebImageErrorDomain", 1001, 200, false),
        ("NSURLErrorDomain", -1001, 0, true), ("NSURLErrorDomain", -1003, 0, true),
        ("NSURLErrorDomain", -1200, 0, true), ("NSURLErrorDomain", -1202, 0, false),
        ("NSURLErrorDomain", -1007, 0, false), ("LarderErrorDomain", 101, 0, false),
        ("LarderErrorDomain", 201, 0, false), ("LarderErrorDomain", 403, 0, true),
    ])
    func `only transient failures are retried`(domain: String, code: Int, status: Int, expected: Bool) {
        #expect(FailureClassification.of(domain: domain, code: code, httpStatus: status).isRetried == expected)
    }
}
