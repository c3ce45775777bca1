import Concurrency
import Testing

@Suite(.timeLimit(.minutes(5)))
struct AsyncEventTests {
    @Test func `a signal before the wait is kept, and two kept signals count as one`() async {
        let event = AsyncEvent()
        event.signal()
        event.signal()
        await event.wait()
        let isWoken = Locked(false)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await event.wait()
                isWoken.withLock { $0 = true }
            }
            group.addTask { event.signal() }
        }
        #expect(isWoken.withLock { $0 })
    }

    @Test func `a cancelled wait ends without a signal and consumes none`() async {
        let event = AsyncEvent()
        await withTaskGroup(of: Void.self) { group in
            group.cancelAll()
            group.addTask {
                await event.wait()
                event.signal()
                await event.wait()
            }
        }
        await event.wait()
    }

    @Test func `a wait with a limit ends without a signal, and answers which of them it was`() async {
        let event = AsyncEvent()
        #expect(await event.wait(atMost: .milliseconds(1)) == false)
        event.signal()
        #expect(await event.wait(atMost: .seconds(3_600)))
    }
}
