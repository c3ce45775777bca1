import JobQueue
import Testing

@testable import Prefetcher
@testable import Worker

struct DispatchOrderTests {
    private func started(_ jobs: [(origin: String, priority: Int)]) -> [Int64] {
        let claimed = jobs.enumerated().map { index, job in
            Job(
                id: Int64(index + 1), claim: 1, url: "\(job.origin)/\(index)", priority: job.priority,
                origin: job.origin)
        }
        return DispatchOrder(claimed).jobs.map(\.id)
    }

    @Test func `origins with one job each start in the queue's order`() {
        #expect(started([("a", 4), ("b", 4), ("c", 4), ("d", 4)]) == [1, 2, 3, 4])
    }

    @Test func `an origin with many jobs starts before hundreds of origins with one`() {
        let lone = (0..<300).map { (origin: "lone\($0)", priority: 4) }
        let order = started(lone + Array(repeating: ("many", 4), count: 5))
        #expect(Array(order.prefix(4)) == [301, 302, 303, 304])
        // Its last job has no later job of the same origin and keeps its place in the queue's order.
        #expect(order.last == 305)
    }

    @Test func `two origins with many jobs take turns`() {
        #expect(started([("a", 4), ("a", 4), ("a", 4), ("b", 4), ("b", 4), ("b", 4)]) == [1, 4, 2, 5, 3, 6])
    }

    @Test func `a higher priority always starts first`() {
        #expect(started([("lone", 0), ("many", 4), ("many", 4), ("many", 7), ("other", 7)]) == [1, 2, 3, 4, 5])
    }

    @Test func `a claim of at most two jobs is unchanged`() {
        #expect(started([]) == [])
        #expect(started([("a", 4)]) == [1])
        #expect(started([("a", 4), ("b", 4)]) == [1, 2])
    }

    @Test func `every job starts once`() {
        let jobs = (0..<200).map { (origin: "host\($0 * $0 % 17)", priority: $0 % 3) }
        #expect(started(jobs).sorted() == Array(1...200))
    }
}
