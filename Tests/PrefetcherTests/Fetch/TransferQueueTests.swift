import Testing

@testable import Prefetcher

@Suite("The queue of transfers")
struct TransferQueueTests {
    private let a = Origin(scheme: .https, host: "a", port: 443)
    private let b = Origin(scheme: .https, host: "b", port: 443)

    private func drain(_ queue: inout TransferQueue) -> [UInt64] {
        var started: [UInt64] = []
        while let ticket = queue.next() { started.append(ticket) }
        return started
    }

    @Test("an origin that is full does not hold up another one")
    func fairness() {
        var queue = TransferQueue(total: 10, perOrigin: 2, streams: 4)
        for ticket in 1...5 { queue.ask(UInt64(ticket), a) }
        queue.ask(6, b)
        #expect(drain(&queue) == [1, 2, 6])
        queue.finish(a, multiplexed: false)
        #expect(drain(&queue) == [3])
        #expect(queue.waitingCount == 2)
    }

    @Test("the total limit holds, in the order of asking")
    func total() {
        var queue = TransferQueue(total: 3, perOrigin: 2, streams: 4)
        queue.ask(1, b)
        queue.ask(2, a)
        queue.ask(3, b)
        queue.ask(4, a)
        #expect(drain(&queue) == [1, 2, 3])
        queue.finish(b, multiplexed: false)
        #expect(drain(&queue) == [4])
    }

    @Test("an origin that speaks HTTP/2 gets its streams while it is busy")
    func streams() {
        var queue = TransferQueue(total: 10, perOrigin: 1, streams: 3)
        for ticket in 1...5 { queue.ask(UInt64(ticket), a) }
        #expect(drain(&queue) == [1])
        queue.finish(a, multiplexed: true)
        #expect(drain(&queue) == [2, 3, 4])
    }

    @Test("who leaves is not started")
    func leaving() {
        var queue = TransferQueue(total: 1, perOrigin: 1, streams: 1)
        for ticket in 1...3 { queue.ask(UInt64(ticket), a) }
        #expect(drain(&queue) == [1])
        let left = [2, 2, 1].map { queue.leave($0) }
        #expect(left == [true, false, false])
        queue.finish(a, multiplexed: false)
        #expect(drain(&queue) == [3])
    }
}
