import Concurrency
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RunningTasksTests {
    @Test func `cancelling a name does not cancel the task that called run`() async {
        let running = RunningTasks<Int>()
        let started = AsyncEvent()
        async let caller = { () async -> (Bool, Bool) in
            let body = await running.run(1) {
                started.signal()
                await AsyncEvent().wait()
                return Task.isCancelled
            }
            return (body.value, Task.isCancelled)
        }()
        await started.wait()
        running.cancelAll()
        #expect(await caller == (true, false))
    }

    @Test func `a cancellation handler may cancel others`() async {
        let running = RunningTasks<Int>()
        let started = [AsyncEvent(), AsyncEvent()]
        func run(_ name: Int) async -> Bool {
            await running.run(name) {
                await withTaskCancellationHandler {
                    started[name].signal()
                    await AsyncEvent().wait()
                } onCancel: {
                    running.cancelAll()
                }
            }.wasCancelled
        }
        async let first = run(0)
        async let second = run(1)
        for event in started { await event.wait() }
        running.cancel([0])
        #expect(await first)
        #expect(await second)
    }

    @Test func `cancelling a name cancels its task and no other`() async {
        let running = RunningTasks<Int>()
        let started = AsyncEvent()
        let go = AsyncEvent()
        async let first = running.run(1) {
            started.signal()
            await AsyncEvent().wait()
            return Task.isCancelled
        }
        async let second = running.run(2) {
            await go.wait()
            return Task.isCancelled
        }
        await started.wait()
        running.cancel([1, 3])
        let cancelled = await first
        #expect(cancelled.value)
        #expect(cancelled.wasCancelled)
        go.signal()
        let untouched = await second
        #expect(!untouched.value)
        #expect(!untouched.wasCancelled)
        #expect(running.isEmpty)
    }
}
