import Concurrency
import JobQueue
import Testing

@testable import Prefetcher
@testable import Worker

@Suite("Parts of the worker", .timeLimit(.minutes(5)))
struct WorkerPartsTests {
    @Test("a lease holds until its margin before the end, longer when confirmed, and never again once it was gone")
    func lease() {
        let time = Locked(100.0)
        let lease = Lease(seconds: 15, clock: { time.withLock { $0 } })
        #expect(lease.holds)
        time.withLock { $0 = 111.9 }
        #expect(lease.holds)
        lease.confirm(askedAt: 110, seconds: 15)
        time.withLock { $0 = 121.9 }
        #expect(lease.holds)
        time.withLock { $0 = 122.1 }
        #expect(!lease.holds)
        lease.confirm(askedAt: 121, seconds: 15)
        #expect(!lease.holds)
    }

    @Test("a confirmation counts from when it was asked, and an older one changes nothing")
    func confirmation() {
        let time = Locked(100.0)
        let lease = Lease(seconds: 15, asked: 95, clock: { time.withLock { $0 } })
        time.withLock { $0 = 107.1 }
        #expect(!lease.holds)
        lease.confirm(askedAt: 90, seconds: 15)
        #expect(!lease.holds)
    }

    @Test("a lost lease stays lost")
    func lost() {
        let lease = Lease(seconds: 15, clock: { 100 })
        lease.lose()
        lease.confirm(askedAt: 100, seconds: 15)
        #expect(!lease.holds)
    }

    @Test("a ring before the wait is not lost, and two are one")
    func doorbell() async {
        let bell = AsyncEvent()
        bell.signal()
        bell.signal()
        await bell.wait()
        let rung = Locked(false)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await bell.wait()
                rung.withLock { $0 = true }
            }
            group.addTask { bell.signal() }
        }
        #expect(rung.withLock { $0 })
    }

    @Test("a cancelled wait ends without a ring")
    func cancelledWait() async {
        let bell = AsyncEvent()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await bell.wait() }
            group.cancelAll()
        }
        #expect(Bool(true), "reached")
    }

    @Test("a running job that is cancelled by name sees its cancellation; its neighbour does not")
    func cancellation() async {
        let running = RunningTasks<Claim>()
        let first = Claim(job: 1, number: 1)
        let second = Claim(job: 2, number: 1)
        let started = AsyncEvent()
        let go = AsyncEvent()
        async let one = running.run(first) {
            started.signal()
            await AsyncEvent().wait()
            return Task.isCancelled
        }
        async let two = running.run(second) {
            await go.wait()
            return Task.isCancelled
        }
        await started.wait()
        running.cancel([first, Claim(job: 2, number: 9)])
        let cancelled = await one
        #expect(cancelled.value)
        #expect(cancelled.wasCancelled)
        go.signal()
        let untouched = await two
        #expect(!untouched.value)
        #expect(!untouched.wasCancelled)
    }

    @Test("a stop only becomes more urgent")
    func stop() {
        let stop = ShutdownRequest()
        #expect(stop.urgency == .none)
        stop.ask(.cancel)
        stop.ask(.finish)
        #expect(stop.urgency == .cancel)
    }
}
