import Testing

@testable import Worker

struct ClaimWidthTests {
    @Test func `each round of jobs from the cache doubles the claims' width, up to eight times the slots`() {
        var width = ClaimWidth()
        var factors: [Int] = []
        for _ in 0..<5 {
            for _ in 0..<(4 * width.factor) { width.note(isFromCache: true, slots: 4) }
            factors.append(width.factor)
        }
        #expect(factors == [2, 4, 8, 8, 8])
    }

    @Test func `a job that is not from the cache ends it at once`() {
        var width = ClaimWidth()
        for _ in 0..<40 { width.note(isFromCache: true, slots: 4) }
        #expect(width.factor == 8)
        width.note(isFromCache: false, slots: 4)
        #expect(width.factor == 1)
        for _ in 0..<3 { width.note(isFromCache: true, slots: 4) }
        #expect(width.factor == 1)
    }

    @Test func `jobs of both kinds in turn change nothing`() {
        var width = ClaimWidth()
        for number in 0..<100 { width.note(isFromCache: number % 3 != 0, slots: 4) }
        #expect(width.factor == 1)
    }
}
