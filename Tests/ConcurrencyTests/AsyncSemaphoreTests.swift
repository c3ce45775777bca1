import Concurrency
import Testing

@Suite(.timeLimit(.minutes(5)))
struct AsyncSemaphoreTests {
    @Test func `permits are granted in the order of the requests`() {
        var queue = SemaphoreQueue(permits: 1)
        let granted = [queue.acquire(1), queue.acquire(2), queue.acquire(3)]
        #expect(granted == [true, false, false])
        let next = [queue.release(), queue.release(), queue.release()]
        #expect(next == [[2], [3], []])
        #expect(queue.free == 1)
    }

    @Test func `a request for many permits waits for all of them and is not overtaken`() {
        var queue = SemaphoreQueue(permits: 100)
        let granted = [queue.acquire(1, 70), queue.acquire(2, 40), queue.acquire(3, 10)]
        #expect(granted == [true, false, false])
        let next = queue.release(70)
        #expect(next == [2, 3])
        #expect(queue.free == 50)
        let large = queue.acquire(4, 100), after = queue.acquire(5, 10)
        #expect(!large)
        #expect(!after)
        queue.leave(4)
        let left = queue.release(0)
        #expect(left == [5])
        #expect(queue.free == 40)
    }

    @Test func `a ticket that leaves the queue is passed over`() {
        var queue = SemaphoreQueue(permits: 1)
        for ticket: UInt64 in 1...3 { _ = queue.acquire(ticket) }
        let left = [queue.leave(2), queue.leave(2)]
        #expect(left == [true, false])
        let next = queue.release()
        #expect(next == [3])
    }

    @Test func `no more tasks run at once than there are permits`() async {
        let semaphore = AsyncSemaphore(3)
        let running = Locked((now: 0, most: 0))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    _ = await semaphore.acquire()
                    running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                    await Task.yield()
                    running.withLock { $0.now -= 1 }
                    semaphore.release()
                }
            }
        }
        #expect(running.withLock { $0.most } <= 3)
        #expect(semaphore.free == 3)
    }

    @Test func `a cancelled waiter gets no permit and loses none`() async {
        let semaphore = AsyncSemaphore(1)
        #expect(await semaphore.acquire())
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await semaphore.acquire() }
            group.cancelAll()
            for await granted in group { #expect(!granted) }
        }
        semaphore.release()
        #expect(semaphore.free == 1)
    }
}
