import JobQueue
import TestSupport
import Testing

@testable import Prefetcher
@testable import Worker

/// A worker that is to end does not wait for a database that stands still.
@Suite(.timeLimit(.minutes(1)))
struct StopLimitTests {
    private struct NoLoader: Loader {
        func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport { LoadReport() }
    }

    @Test func `a stopped worker ends although the database does not answer`() async throws {
        let server = try SilentServer()
        var patient = PostgresJobQueue.Configuration(databaseURL: server.url)
        patient.statementTimeout = .seconds(3_600)
        patient.maxWait = .seconds(3_600)
        var configuration = PrefetchWorker.Configuration(
            WorkerDescription(name: "test", host: "test", processID: 1, version: "test", slots: 1))
        configuration.lastStatements = .zero
        let worker = PrefetchWorker(
            queue: PostgresJobQueue(patient), loader: NoLoader(), configuration: configuration)
        let shutdown = ShutdownRequest()
        async let summary = worker.run(until: shutdown)
        #expect(await reached { server.arrivals.statements == 1 })
        shutdown.request(.cancel)
        #expect(try await summary == PrefetchWorker.Summary())
    }

    @Test func `the limit follows the first of shutdown and deadline, and is never moved back`() {
        let start = ContinuousClock.now
        func limit(
            _ urgency: ShutdownRequest.Urgency, deadline: ContinuousClock.Instant? = nil,
            at now: ContinuousClock.Instant, before: ContinuousClock.Instant? = nil
        ) -> Duration? {
            StopLimit(grace: .seconds(20), lastStatements: .seconds(5), deadline: deadline)
                .end(urgency, at: now, before: before).map { $0 - start }
        }
        #expect(limit(.none, at: start) == nil)
        #expect(limit(.none, deadline: start + .seconds(60), at: start) == .seconds(85))
        #expect(limit(.finish, at: start) == .seconds(25))
        #expect(limit(.finish, at: start + .seconds(3), before: start + .seconds(25)) == .seconds(25))
        #expect(limit(.cancel, at: start + .seconds(3), before: start + .seconds(25)) == .seconds(8))
    }
}
