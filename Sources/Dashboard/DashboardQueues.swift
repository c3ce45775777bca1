import Concurrency
package import JobQueue

/// The queues of `larder serve`, each with its own session, opened on first use: pages, changes and probes are answered
/// while a report reads a million records.
package struct DashboardQueues: Sendable {
    /// For `/readyz`. A call fails after 5 s, so that probes of a hanging database do not accumulate.
    package let probes: PostgresJobQueue
    package let changes: PostgresJobQueue
    let slowReads: PostgresJobQueue
    private let pages: [PostgresJobQueue]
    /// Running and waiting reads, for each queue of `pages`.
    private let reads = Locked([0, 0])

    private var all: [PostgresJobQueue] { [probes, changes, slowReads] + pages }

    /// Does not connect.
    ///
    /// - Parameter maxWait: how long a call waits for an unavailable database.
    package init(databaseURL: String, maxWait: Duration) {
        var configuration = PostgresJobQueue.Configuration(databaseURL: databaseURL)
        configuration.statementTimeout = .seconds(5)
        probes = PostgresJobQueue(configuration)
        configuration = PostgresJobQueue.Configuration(databaseURL: databaseURL)
        configuration.maxWait = maxWait
        changes = PostgresJobQueue(configuration)
        slowReads = PostgresJobQueue(configuration)
        pages = [PostgresJobQueue(configuration), PostgresJobQueue(configuration)]
    }

    /// Reads for a page or scrape, on the queue with the fewest reads.
    package func reading<Value>(_ body: (PostgresJobQueue) async throws -> Value) async rethrows -> Value {
        let index = reads.withLock { reads in
            let index = reads[0] <= reads[1] ? 0 : 1
            reads[index] += 1
            return index
        }
        defer { reads.withLock { $0[index] -= 1 } }
        return try await body(pages[index])
    }

    /// Ends all statements and connection attempts by this time.
    package func end(by time: ContinuousClock.Instant) { for queue in all { queue.end(by: time) } }

    package func close() async { for queue in all { await queue.close() } }
}
