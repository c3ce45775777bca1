import JobQueue
import Testing

@testable import Prefetcher
@testable import Worker

@Suite("The order in which a claim's jobs begin")
struct DispatchOrderTests {
    private func started(_ jobs: [(origin: String, priority: Int)]) -> [Int64] {
        let claimed = jobs.enumerated().map { index, job in
            Job(
                id: Int64(index + 1), claim: 1, url: "\(job.origin)/\(index)", priority: job.priority,
                origin: job.origin)
        }
        return DispatchOrder(claimed).jobs.map(\.id)
    }

    @Test func `hosts with a job each begin as the queue handed them out`() {
        #expect(started([("a", 4), ("b", 4), ("c", 4), ("d", 4)]) == [1, 2, 3, 4])
    }

    @Test func `an origin with many jobs does not begin behind hundreds that have one`() {
        let lone = (0..<300).map { (origin: "lone\($0)", priority: 4) }
        let order = started(lone + Array(repeating: ("many", 4), count: 5))
        #expect(Array(order.prefix(4)) == [301, 302, 303, 304])
        // Behind its last one nothing of it waits: that one is like any other.
        #expect(order.last == 305)
    }

    @Test func `two origins with many jobs take turns`() {
        #expect(started([("a", 4), ("a", 4), ("a", 4), ("b", 4), ("b", 4), ("b", 4)]) == [1, 4, 2, 5, 3, 6])
    }

    @Test func `priority goes before all`() {
        #expect(started([("lone", 0), ("many", 4), ("many", 4), ("many", 7), ("other", 7)]) == [1, 2, 3, 4, 5])
    }

    @Test func `a claim of nothing, one or two is left as it is`() {
        #expect(started([]) == [])
        #expect(started([("a", 4)]) == [1])
        #expect(started([("a", 4), ("b", 4)]) == [1, 2])
    }

    @Test func `every job begins once`() {
        let jobs = (0..<200).map { (origin: "host\($0 * $0 % 17)", priority: $0 % 3) }
        #expect(started(jobs).sorted() == Array(1...200))
    }
}
