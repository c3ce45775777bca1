import Concurrency
import Foundation
import TestSupport
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct RollingDeployTests {
    /// How many rounds each loop has done, so that the migration comes in the middle of them.
    private final class Rounds: Sendable, CustomStringConvertible {
        private let done = Locked([String: Int]())
        func add(_ name: String) { done.withLock { $0[name, default: 0] += 1 } }
        func least(of names: [String]) -> Int { done.withLock { all in names.map { all[$0] ?? 0 }.min() ?? 0 } }
        var description: String { done.withLock { "\($0)" } }
    }

    /// The migration of `scripts/next-version`, which changes tables that workers use all the time.
    private static func nextMigration() throws -> Migration {
        let script = try String(contentsOfFile: PackageRoot.path + "/scripts/next-version", encoding: .utf8)
        let sql = try #require(script.firstMatch(of: /<<'SQL'\n((?s).*?)\nSQL\n/)).1
        #expect(sql.contains("ALTER TABLE larder_data.job "))
        let number = Migration.all.count + 1
        return Migration("\(String(repeating: "0", count: 4 - "\(number)".count))\(number)_next", String(sql))
    }

    /// The files of the tables. A table that is rewritten gets a new one.
    private static func tableFiles(_ database: TemporaryDatabase) throws -> String? {
        try AdminSession(database.url).execute(
            """
            SELECT string_agg(format('%s %s', c.oid::regclass, pg_relation_filenode(c.oid)), E'\n' ORDER BY c.oid)
            FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'larder_data'::regnamespace
            """)
    }

    /// A call, repeated as a worker repeats it: a call that waits for the migration's locks may end in a lock timeout.
    private static func repeating<Answer>(_ call: () async throws -> Answer) async throws -> Answer {
        while true {
            do { return try await call() } catch let error as QueueError where error.isTransient && !Task.isCancelled {}
        }
    }

    @Test(arguments: [false, true])
    func `enqueuers and workers go on while the last migration, or one that changes tables, is applied under them`(
        changesTables: Bool
    ) async throws {
        let database = try await TemporaryDatabase.make()
        let configuration = PostgresJobQueue.Configuration(databaseURL: database.url)
        let after = changesTables ? Migration.all + [try Self.nextMigration()] : Migration.all
        try await Migrator(configuration, migrations: Array(after.dropLast())).migrate()
        let files = try Self.tableFiles(database)
        // A busy machine may stand still for as long as a lease.
        try AdminSession(database.url).execute("UPDATE larder_data.settings SET lease_ms = 3600000")
        // Its progress is read from the start.
        _ = try await PostgresJobQueue(configuration).producer.enqueue(
            EnqueueRequest(urls: ["http://a/first"], batch: "batch"))

        let rounds = Rounds()
        let over = Locked(false)
        let names = ["enqueue", "worker-0", "worker-1", "maintain"]
        // Connections made before the migration, as older programs have them.
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let queue = PostgresJobQueue(configuration)
                var number = 0
                while !over.withLock({ $0 }) {
                    _ = try await queue.producer.enqueue(
                        EnqueueRequest(urls: (0..<5).map { "http://a/\(number + $0)" }, batch: "batch"))
                    number += 3
                    rounds.add("enqueue")
                }
            }
            for name in names[1...2] {
                group.addTask {
                    let queue = PostgresJobQueue(configuration)
                    let worker = try await queue.workers.start(
                        WorkerDescription(name: name, host: "h", processID: 1, version: "old", slots: 8))
                    while !over.withLock({ $0 }) {
                        let jobs = try await Self.repeating { try await worker.claim(upTo: 8) }
                        let outcomes = jobs.enumerated().map { index, job in
                            index == 0 ? Outcome.unavailable(job.held) : Outcome(job.held, .succeeded)
                        }
                        let completed = try await Self.repeating { try await worker.completeAll(outcomes) }
                        #expect(completed.allSatisfy { $0.decision != .stale })
                        _ = try await Self.repeating { try await worker.heartbeat() }
                        rounds.add(name)
                    }
                    try await worker.stop()
                }
            }
            group.addTask {
                let queue = PostgresJobQueue(configuration)
                while !over.withLock({ $0 }) {
                    _ = try await Self.repeating { try await queue.workers.maintain() }
                    _ = try await queue.reports.progress(of: .name("batch"))
                    rounds.add("maintain")
                }
            }
            group.addTask {
                func wait(for count: Int) async throws {
                    try #require(await reached { rounds.least(of: names) >= count }, "\(rounds)")
                }
                try await wait(for: 5)
                #expect(try await Migrator(configuration, migrations: after).migrate().count == 1)
                try await wait(for: rounds.least(of: names) + 10)
                // A new program starts while the old ones run.
                try await PostgresJobQueue(configuration).checkReady()
                over.withLock { $0 = true }
            }
            // The first failure ends the others.
            do { while try await group.next() != nil {} } catch {
                over.withLock { $0 = true }
                throw error
            }
        }
        // A statement that began before a table was rewritten would find the table empty, and a worker its lease gone.
        #expect(try Self.tableFiles(database)?.hasPrefix(#require(files)) == true)
        let queue = PostgresJobQueue(configuration)
        #expect(try await queue.reports.check().isEmpty)
        #expect(try await queue.reports.progress(of: .name("batch")).succeeded > 0)
    }
}
