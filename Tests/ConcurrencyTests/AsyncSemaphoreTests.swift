@testable import Concurrency
import Testing

@Suite("AsyncSemaphore", .timeLimit(.minutes(5)))
struct AsyncSemaphoreTests {
    @Test("permits go round in the order of asking")
    func order() {
        var queue = SemaphoreQueue(permits: 1)
        let granted = [queue.ask(1), queue.ask(2), queue.ask(3)]
        #expect(granted == [true, false, false])
        let next = [queue.giveBack(), queue.giveBack(), queue.giveBack()]
        #expect(next == [2, 3, nil])
        #expect(queue.free == 1)
    }

    @Test("one who leaves is passed over")
    func leaving() {
        var queue = SemaphoreQueue(permits: 1)
        _ = queue.ask(1)
        _ = queue.ask(2)
        _ = queue.ask(3)
        let left = [queue.leave(2), queue.leave(2)]
        #expect(left == [true, false])
        let next = queue.giveBack()
        #expect(next == 3)
    }

    @Test("never more run at once than there are permits")
    func bound() async {
        let permits = AsyncSemaphore(3)
        let running = Locked((now: 0, most: 0))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    _ = await permits.acquire()
                    running.withLock {
                        $0.now += 1
                        $0.most = max($0.most, $0.now)
                    }
                    await Task.yield()
                    running.withLock { $0.now -= 1 }
                    permits.release()
                }
            }
        }
        #expect(running.withLock { $0.most } <= 3)
        #expect(permits.free == 3)
    }

    @Test("a cancelled waiter gets no permit and loses none")
    func cancellation() async {
        let permits = AsyncSemaphore(1)
        #expect(await permits.acquire())
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await permits.acquire() }
            group.cancelAll()
            for await granted in group { #expect(!granted) }
        }
        permits.release()
        #expect(permits.free == 1)
    }
}
