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

    /// The error of a call.
    private func code(of queue: PostgresJobQueue) async -> QueueError.Code? {
        do throws(QueueError) {
            _ = try await queue.check()
            return nil
        } catch {
            return error.code
        }
    }
}
