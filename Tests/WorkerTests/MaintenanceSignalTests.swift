import Concurrency
import TestSupport
import Testing

@testable import Worker

/// When the services of a worker run.
@Suite(.timeLimit(.minutes(1)))
struct MaintenanceSignalTests {
    private static let forever = Duration.seconds(3_600)

    @Test func `every service runs after an answer that maintenance is due, also one that was busy then`() async {
        let signal = MaintenanceSignal()
        let services = [signal.subscribe(), signal.subscribe()]
        signal.answered(isDue: true)
        for service in services { await service.wait(atLeast: .milliseconds(1), atMost: Self.forever) }
        async let waiting: Void = services[0].wait(atLeast: .zero, atMost: Self.forever)
        signal.answered(isDue: true)
        await waiting
    }

    @Test func `a service runs no more often than its shortest interval`() async {
        let signal = MaintenanceSignal()
        let service = signal.subscribe()
        let waiting = Task { await service.wait(atLeast: Self.forever, atMost: .zero) }
        for _ in 0..<10 { signal.answered(isDue: true) }
        let hasReturned = Locked(false)
        async let end: Void = {
            await waiting.value
            hasReturned.withLock { $0 = true }
        }()
        for _ in 0..<100 { await Task.yield() }
        #expect(!hasReturned.withLock { $0 })
        waiting.cancel()
        await end
    }

    @Test func `a service waits while heartbeats answer that nothing is due, and runs without any answer`() async {
        let signal = MaintenanceSignal()
        let service = signal.subscribe()
        await service.wait(atLeast: .zero, atMost: .milliseconds(1))
        // An answer of an hour ahead stands for answers until then.
        signal.answered(isDue: false, at: .now + Self.forever)
        let waiting = Task { await service.wait(atLeast: .zero, atMost: .milliseconds(1)) }
        let hasReturned = Locked(false)
        async let end: Void = {
            await waiting.value
            hasReturned.withLock { $0 = true }
        }()
        let other = MaintenanceSignal().subscribe()
        for _ in 0..<3 { await other.wait(atLeast: .milliseconds(1), atMost: .milliseconds(1)) }
        #expect(!hasReturned.withLock { $0 })
        waiting.cancel()
        await end
    }
}
