import TestSupport
import Testing

@testable import JobQueue

/// A server that accepts connections and stands still.
@Suite(.timeLimit(.minutes(1)))
struct SilentServerTests {
    private func configuration(_ server: SilentServer, statement: Duration) -> PostgresJobQueue.Configuration {
        var configuration = PostgresJobQueue.Configuration(databaseURL: server.url)
        configuration.connectTimeout = .seconds(3_600)
        configuration.statementTimeout = statement
        return configuration
    }

    @Test func `a statement ends at its time limit although the request to cancel it is not answered`() async throws {
        let server = try SilentServer()
        let connection = Connection(configuration(server, statement: .milliseconds(1)), name: "test")
        let error = await #expect(throws: QueueError.self) { try await connection.rows("SELECT 1") }
        #expect(error?.code == .timeout)
        #expect(await reached { server.arrivals.cancels == 1 })
    }

    @Test func `a statement under way ends when the queue's calls are cut off`() async throws {
        let server = try SilentServer()
        let queue = PostgresJobQueue(configuration(server, statement: .seconds(3_600)))
        async let failed = code(of: queue)
        #expect(await reached { server.arrivals.statements == 1 })
        queue.end(by: .now)
        #expect(await failed == .timeout)
        #expect(await reached { server.arrivals.cancels == 1 })
    }

    @Test func `a connection attempt under way ends when the queue's calls are cut off, and is not repeated`()
        async throws
    {
        let server = try SilentServer(.mute)
        var patient = configuration(server, statement: .seconds(3_600))
        patient.maxWait = .seconds(3_600)
        let queue = PostgresJobQueue(patient)
        async let failed = code(of: queue)
        #expect(await reached { server.arrivals.connections == 1 })
        queue.end(by: .now)
        #expect(await failed == .unreachable)
    }

    // MARK: - Cancelled tasks

    @Test func `a call of a cancelled task leaves the queue of calls at once`() async throws {
        let server = try SilentServer()
        let queue = PostgresJobQueue(configuration(server, statement: .seconds(3_600)))
        let first = Task { await code(of: queue) }
        #expect(await reached { server.arrivals.statements == 1 })
        for call in [Call.read, .write] {
            let waiting = Task { await code(of: queue, call) }
            waiting.cancel()
            #expect(await waiting.value == .cancelled)
        }
        #expect(server.arrivals.statements == 1)
        queue.end(by: .now)
        #expect(await first.value == .timeout)
    }

    @Test func `a call of a cancelled task does not wait for a session`() async throws {
        let server = try SilentServer()
        var configuration = configuration(server, statement: .seconds(3_600))
        configuration.sessionWait = .seconds(3_600)
        configuration.maintenanceTimeout = .seconds(3_600)
        let queue = PostgresJobQueue(configuration)
        let users = [MaintenanceKind.urgent, .routine].map { kind in
            Task { await code(of: queue, .maintenance(kind)) }
        }
        #expect(await reached { server.arrivals.statements == 2 })
        let waiting = Task { await code(of: queue) }
        #expect(await reached { queue.sessions.waiting == 1 })
        waiting.cancel()
        #expect(await waiting.value == .cancelled)
        queue.end(by: .now)
        for user in users { #expect(await user.value == .timeout) }
    }

    @Test func `a statement that changes nothing ends with its task, and its session is closed`() async throws {
        let server = try SilentServer()
        let queue = PostgresJobQueue(configuration(server, statement: .seconds(3_600)))
        let call = Task { await code(of: queue) }
        #expect(await reached { server.arrivals.statements == 1 })
        call.cancel()
        #expect(await call.value == .cancelled)
        #expect(await reached { server.arrivals.cancels == 1 })
        #expect(queue.openSessions == 0)
    }

    @Test func `the answer to a statement that may change something is awaited by a cancelled task`() async throws {
        let server = try SilentServer()
        let queue = PostgresJobQueue(configuration(server, statement: .seconds(3_600)))
        let call = Task { await code(of: queue, .write) }
        #expect(await reached { server.arrivals.statements == 1 })
        call.cancel()
        // Longer than a read would go on.
        let read = Task { await code(of: PostgresJobQueue(configuration(server, statement: .milliseconds(500)))) }
        #expect(await read.value == .timeout)
        #expect(server.arrivals.cancels <= 1)
        #expect(queue.openSessions == 1)
        queue.end(by: .now)
        #expect(await call.value == .timeout)
    }

    @Test func `the calls by which a worker keeps its jobs are sent by a cancelled task`() async throws {
        let server = try SilentServer()
        let queue = PostgresJobQueue(configuration(server, statement: .seconds(3_600)))
        let worker = WorkerSession(id: 1, lease: .seconds(15), queue: queue)
        let tasks = [Call.heartbeat(worker), .completion(worker)].map { call in Task { await code(of: queue, call) } }
        for task in tasks { task.cancel() }
        #expect(await reached { server.arrivals.statements == 2 })
        queue.end(by: .now)
        for task in tasks { #expect(await task.value == .timeout) }
    }

    private enum Call: Sendable {
        case read, write
        case maintenance(MaintenanceKind)
        case heartbeat(WorkerSession), completion(WorkerSession)
    }

    /// The error of a call.
    private func code(of queue: PostgresJobQueue, _ call: Call = .read) async -> QueueError.Code? {
        do throws(QueueError) {
            switch call {
            case .read: _ = try await queue.reports.check()
            case .write: try await queue.producer.seal(.name("a"))
            case .maintenance(let kind): try await queue.workers.maintain(kind)
            case .heartbeat(let worker): _ = try await worker.heartbeat()
            case .completion(let worker):
                _ = try await worker.complete([Outcome(Claim(job: 1, number: 1), .succeeded)])
            }
            return nil
        } catch {
            return error.code
        }
    }
}
