import Testing

@testable import JobQueue

struct ClaimSequenceTests {
    private func job(_ id: Int64, _ claim: Int64) -> Job {
        Job(
            id: id, claim: claim, attempt: 1, maxAttempts: 4, url: "http://host/\(id)", pipeline: 1, options: 0,
            context: nil, priority: 4, origin: "http://host:80", batch: 1, isBlocked: false)
    }

    @Test func `the oldest claim is the lowest of those under way, unanswered or held, else the next one`() {
        var claims = ClaimSequence()
        #expect(claims.oldest == 1)
        let first = claims.take(), second = claims.take()
        #expect(claims.oldest == 1, "both are under way")
        claims.answered(second, [job(7, 2), job(8, 2)])
        #expect(claims.oldest == 1)
        claims.keep(first)
        #expect(claims.oldest == 1, "its answer was lost")
        let again = claims.take()
        #expect(again.number == 1)
        #expect(again.isAgain)
        #expect(claims.oldest == 1)
        claims.answered(again, [])
        #expect(claims.oldest == 2)
        claims.end([Claim(job: 7, number: 2)])
        claims.end([Claim(job: 7, number: 2), Claim(job: 9, number: 5)])
        #expect(claims.oldest == 2, "a result that is sent twice ends one job")
        claims.end([Claim(job: 8, number: 2)])
        #expect(claims.oldest == 3)
    }
}
