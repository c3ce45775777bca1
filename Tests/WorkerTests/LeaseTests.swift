import Concurrency
import Testing

@testable import Worker

@Suite struct LeaseTests {
    private let time = Locked(100.0)

    private func lease(sent: Double? = nil) -> Lease {
        Lease(seconds: 15, sent: sent, clock: { [time] in time.withLock { $0 } })
    }

    private func advance(to moment: Double) { time.withLock { $0 = moment } }

    @Test func `a lease is valid until its margin, and again when a heartbeat confirms it after an outage`() {
        let lease = lease()
        #expect(lease.holds)
        advance(to: 111.9)
        #expect(lease.holds)
        lease.confirm(sentAt: 110, seconds: 15)
        advance(to: 121.9)
        #expect(lease.holds)
        advance(to: 122.1)
        #expect(!lease.holds)
        #expect(!lease.isLost)
        lease.confirm(sentAt: 122, seconds: 15)
        #expect(lease.holds)
    }

    @Test func `a confirmation counts from the time of its call, and an older one has no effect`() {
        let lease = lease(sent: 95)
        advance(to: 107.1)
        #expect(!lease.holds)
        lease.confirm(sentAt: 90, seconds: 15)
        #expect(!lease.holds)
    }

    @Test func `a lost lease stays lost`() {
        let lease = lease()
        lease.lose()
        lease.confirm(sentAt: 100, seconds: 15)
        #expect(!lease.holds)
        #expect(lease.isLost)
    }

    @Test func `who waits for a confirmation gets it, or is told that the lease is lost`() async {
        let lease = lease()
        advance(to: 200)
        async let confirmed = lease.isConfirmed()
        lease.confirm(sentAt: 199, seconds: 15)
        #expect(await confirmed)
        advance(to: 300)
        async let lost = lease.isConfirmed()
        lease.lose()
        #expect(await !lost)
    }
}

@Suite struct ShutdownRequestTests {
    @Test func `a shutdown request only becomes more urgent`() {
        let shutdown = ShutdownRequest()
        #expect(shutdown.urgency == .none)
        shutdown.request(.cancel)
        shutdown.request(.finish)
        #expect(shutdown.urgency == .cancel)
    }

    @Test func `a request signals the event of every worker that runs`() async {
        let shutdown = ShutdownRequest()
        let (first, second) = (AsyncEvent(), AsyncEvent())
        await shutdown.signalling(first) {
            await shutdown.signalling(second) { shutdown.request(.finish) }
            // Would not return without the signal.
            await first.wait()
            await second.wait()
        }
    }
}
