import Foundation
import TestSupport
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct MigratorTests {
    private func code(_ body: () async throws -> Void) async -> QueueError.Code? {
        do {
            try await body()
            return nil
        } catch { return (error as? QueueError)?.code }
    }

    @Test func `a server older than the oldest supported version is refused in words, and stays unchanged`()
        async throws
    {
        let database = try await TemporaryDatabase.make()
        let configuration = PostgresJobQueue.Configuration(databaseURL: database.url)
        let migrator = Migrator(configuration, migrations: Migration.all, oldestServer: 99)
        for call in [{ _ = try await migrator.migrate() }, { _ = try await migrator.status() }] {
            let error = await #expect(throws: QueueError.self) { try await call() }
            #expect(error?.code == .refused)
            #expect(error?.message.hasSuffix("Larder needs 99 or newer") == true)
        }
        #expect(try AdminSession(database.url).execute("SELECT to_regnamespace('larder_data')") == nil)
    }

    @Test func `four migrators at once apply each migration once, and a fifth finds nothing to do`() async throws {
        let database = try await TemporaryDatabase.make()
        let configuration = PostgresJobQueue.Configuration(databaseURL: database.url)
        #expect(try await Migrator(configuration).status().allSatisfy { $0.appliedAt == nil })
        #expect(await code { try await PostgresJobQueue(configuration).checkReady() } == .notMigrated)
        let applied = try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 0..<4 { group.addTask { try await Migrator(configuration).migrate().map(\.number) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(applied.sorted() == Array(1...Migration.all.count))
        let migrator = Migrator(configuration)
        #expect(try await migrator.migrate().isEmpty)
        #expect(try await migrator.status().allSatisfy { $0.appliedAt != nil })
        try await PostgresJobQueue(configuration).checkReady()
    }

    @Test
    func `a newer database is refused by the migrator, and used by a worker while the protocol is offered`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.sql(
            "INSERT INTO larder_data.migration (number, name, checksum) VALUES (99, '0099_future', '')")
        let migrator = Migrator(fixture.configuration)
        #expect(await code { try await migrator.migrate() } == .newerSchema)
        #expect(await code { _ = try await migrator.pending() } == .newerSchema)
        let newer = try #require(try await migrator.status().last)
        #expect(newer.isNewer)
        #expect(newer.name == "0099_future")
        #expect(newer.appliedAt != nil)
        try await fixture.queue.checkReady()
        try await fixture.enqueue(["http://a/1"])
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        #expect(try await worker.complete([Outcome(job.held, .succeeded)]).map(\.decision) == [.succeeded])
        try await fixture.sql("UPDATE larder_data.settings SET protocol_oldest = 2, protocol_newest = 3")
        #expect(await code { try await fixture.queue.checkReady() } == .protocolMismatch)
        #expect(await code { _ = try await fixture.startWorker() } == .protocolMismatch)
    }

    @Test func `a database that lacks migrations, or has one in another wording, is refused`() async throws {
        let database = try await TemporaryDatabase.make()
        let configuration = PostgresJobQueue.Configuration(databaseURL: database.url)
        try await Migrator(configuration, migrations: Array(Migration.all.prefix(2))).migrate()
        #expect(await code { try await PostgresJobQueue(configuration).checkReady() } == .notMigrated)
        let changed = Migration.all.enumerated().map { index, migration in
            index == 1 ? Migration(migration.name, migration.sql + " ") : migration
        }
        #expect(await code { try await Migrator(configuration, migrations: changed).migrate() } == .changedMigration)
    }

    @Test func `the files alone, applied in order, make the schema`() async throws {
        let database = try await TemporaryDatabase.make()
        let connection = Connection(PostgresJobQueue.Configuration(databaseURL: database.url), name: "test")
        for migration in Migration.all {
            try await connection.withSession { session throws(QueueError) in
                try session.run(script: migration.sql, timeout: .seconds(60))
            }
        }
        #expect(try await connection.rows("SELECT count(*) FROM larder.check()") == [["0"]])
    }

    @Test func `a migration that fails leaves nothing of itself behind`() async throws {
        let database = try await TemporaryDatabase.make()
        let configuration = PostgresJobQueue.Configuration(databaseURL: database.url)
        let broken = [
            Migration("0001_good", "CREATE TABLE larder_data.good (x int);"),
            Migration("0002_bad", "CREATE TABLE larder_data.half (x int); SELECT 1 / 0;"),
        ]
        try await Migrator(configuration, migrations: Array(broken.prefix(1))).migrate()
        let migrator = Migrator(configuration, migrations: broken)
        #expect(await code { try await migrator.migrate() } == .refused)
        let rows = try await Connection(configuration, name: "test").rows(
            "SELECT to_regclass('larder_data.good') IS NOT NULL, to_regclass('larder_data.half') IS NULL, (SELECT count(*) FROM larder_data.migration)"
        )
        #expect(rows == [["t", "t", "1"]])
        #expect(try await migrator.status().map { $0.appliedAt == nil } == [false, true])
    }

    @Test func `no program meets half the schema of an empty database`() async throws {
        let database = try await TemporaryDatabase.make()
        let configuration = PostgresJobQueue.Configuration(databaseURL: database.url)
        let broken = Migration.all + [Migration("9999_bad", "SELECT 1 / 0;")]
        #expect(await code { try await Migrator(configuration, migrations: broken).migrate() } == .refused)
        #expect(await code { try await PostgresJobQueue(configuration).checkReady() } == .notMigrated)
        let rows = try await Connection(configuration, name: "test").rows(
            "SELECT to_regnamespace('larder') IS NULL, to_regclass('larder_data.job') IS NULL, count(*) FROM larder_data.migration"
        )
        #expect(rows == [["t", "t", "0"]])
        #expect(try await Migrator(configuration).migrate().count == Migration.all.count)
    }

    @Test func `a migration that gets no lock lets other sessions pass and is tried again`() async throws {
        let fixture = try await QueueFixture.make()
        let reader = fixture.otherConnection()
        _ = try await reader.rows("BEGIN")
        _ = try await reader.rows("SELECT count(*) FROM larder_data.job")
        let next = Migration("9999_next", "ALTER TABLE larder_data.job ADD COLUMN note text")
        func migrator(attempts: Int) -> Migrator {
            Migrator(
                fixture.configuration, migrations: Migration.all + [next],
                lockWait: .init(timeout: .milliseconds(100), pause: .milliseconds(1), attempts: attempts))
        }
        let error = await #expect(throws: QueueError.self) { try await migrator(attempts: 2).migrate() }
        #expect(error?.sqlState == "55P03")
        #expect(error?.message.hasPrefix("migration 9999_next: ") == true)
        #expect(try await migrator(attempts: 2).status().last?.appliedAt == nil)

        let (waits, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingOldest(1))
        async let applied = migrator(attempts: 10_000).migrate { _ in continuation.yield() }
        for await _ in waits { break }
        try await fixture.enqueue(["http://a/1"])
        _ = try await reader.rows("ROLLBACK")
        #expect(try await applied.map(\.name) == ["9999_next"])
    }

    @Test func `the list in the program is the directory`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: PackageRoot.path + "/migrations").sorted()
        #expect(names == Migration.all.map { $0.name + ".sql" })
    }

    @Test func `every table, and each view and function of the contract, has a comment`() async throws {
        let fixture = try await QueueFixture.make()
        let silent = try await fixture.sql(
            """
            SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE (n.nspname = 'larder' AND c.relkind = 'v' OR n.nspname = 'larder_data' AND c.relkind IN ('r', 'p'))
              AND NOT c.relispartition AND obj_description(c.oid, 'pg_class') IS NULL
            UNION ALL
            SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
            WHERE n.nspname = 'larder' AND obj_description(p.oid, 'pg_proc') IS NULL
            """)
        #expect(silent.isEmpty, "\(silent)")
    }
}
