import Testing

@testable import Downloader

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

    @Test("the higher priority starts first, among equals the one that asked first")
    func priorities() {
        var queue = TransferQueue(total: 1, perOrigin: 1, streams: 1)
        queue.ask(1, a)
        #expect(queue.next() == 1)
        for (ticket, priority) in [(2, .low), (3, .normal), (4, .high), (5, .high), (6, .normal)]
            as [(UInt64, FetchPriority)]
        {
            queue.ask(ticket, ticket % 2 == 0 ? a : b, priority)
        }
        var order: [UInt64] = []
        var last = a
        for _ in 0..<5 {
            queue.finish(last, multiplexed: false)
            guard let ticket = queue.next() else { break }
            order.append(ticket)
            last = ticket % 2 == 0 ? a : b
        }
        #expect(order == [4, 5, 3, 6, 2])
    }

    @Test("LIFO: the newest waiting one starts next, whatever its priority (spec 3.3)")
    func lifo() {
        var queue = TransferQueue(total: 1, perOrigin: 1, streams: 1, order: .lifo)
        for ticket in 1...1 { queue.ask(UInt64(ticket), a, .high) }
        var order = [queue.next()]
        for ticket in 2...7 { queue.ask(UInt64(ticket), a, ticket == 3 ? .high : .low) }
        queue.finish(a, multiplexed: false)
        order.append(queue.next())
        for ticket in 8...14 { queue.ask(UInt64(ticket), a) }
        for _ in 0..<12 {
            queue.finish(a, multiplexed: false)
            order.append(queue.next())
        }
        #expect(order == [1, 7, 14, 13, 12, 11, 10, 9, 8, 6, 5, 4, 3, 2])
        #expect(queue.next() == nil)
    }
}
