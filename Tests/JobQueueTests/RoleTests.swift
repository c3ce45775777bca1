import EmbeddedPostgres
import ImageModel
import TestSupport
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct RoleTests {
    @Test func `every function of schema larder runs as its owner with a fixed path, and is revoked from PUBLIC`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        // Without a fixed path, only parsed bodies, and procedures, which set the path themselves.
        let unpinned = try await fixture.sql(
            """
            SELECT p.oid::regprocedure::text FROM pg_proc p
            WHERE NOT (p.prokind = 'p' AND p.prosrc ~ 'set_config.''search_path''|^ BEGIN CALL larder[.]')
              AND p.pronamespace IN ('larder'::regnamespace, 'larder_data'::regnamespace) AND p.prosqlbody IS NULL
              AND NOT 'search_path=pg_catalog, pg_temp' = ANY (coalesce(p.proconfig, '{}'))
            """)
        #expect(unpinned.isEmpty, "\(unpinned)")
        let left = try await fixture.sql(
            """
            SELECT p.oid::regprocedure::text FROM pg_proc p WHERE p.pronamespace = 'larder'::regnamespace AND (
                p.prokind <> 'p' AND NOT (p.prosecdef AND 'search_path=pg_catalog, pg_temp' = ANY (p.proconfig))
                OR p.prokind = 'p' AND (p.prosecdef OR p.proconfig IS NOT NULL)
                OR EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee = 0))
            """)
        #expect(left.isEmpty, "\(left)")
        // The same call secures what a later migration adds, and may be repeated.
        try await fixture.sql("CREATE FUNCTION larder.later() RETURNS int LANGUAGE sql AS 'SELECT 1'")
        try await fixture.sql("SELECT larder_data.secure(), larder_data.secure()")
        let later =
            "SELECT prosecdef, has_function_privilege('larder_admin', oid, 'EXECUTE'), has_function_privilege('larder_producer', oid, 'EXECUTE') FROM pg_proc WHERE proname = 'later'"
        #expect(try await fixture.sql(later) == [["t", "t", "f"]])
    }

    @Test func `no role has any right to a table, and every permission names something`() async throws {
        let fixture = try await QueueFixture.make()
        let rights = try await fixture.sql(
            """
            SELECT r.rolname, c.oid::regclass::text FROM pg_roles r, pg_class c
            WHERE r.rolname LIKE 'larder\\_%' AND r.rolname IN ('larder_producer', 'larder_worker', 'larder_reader', 'larder_admin')
              AND c.relnamespace = 'larder_data'::regnamespace AND c.relkind IN ('r', 'p', 'v')
              AND has_table_privilege(r.oid, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
            UNION ALL
            SELECT r, 'larder_data' FROM unnest('{larder_producer,larder_worker,larder_reader,larder_admin}'::text[]) AS r
            WHERE has_schema_privilege(r, 'larder_data', 'USAGE, CREATE') OR has_schema_privilege(r, 'larder', 'CREATE')
            """)
        #expect(rights.isEmpty, "\(rights)")
        let strangers = try await fixture.sql(
            """
            SELECT name FROM larder_data.permission
            EXCEPT SELECT proname FROM pg_proc WHERE pronamespace = 'larder'::regnamespace
            EXCEPT SELECT relname FROM pg_class WHERE relnamespace = 'larder'::regnamespace
            """)
        #expect(strangers.isEmpty, "\(strangers)")
    }

    /// Statements that a role may run, and statements that it may not.
    private static let rights: [(role: String, may: [String], mayNot: [String])] = [
        (
            "larder_producer",
            [
                "SELECT * FROM larder.enqueue('http://a/1', batch => 'b')", "SELECT larder.batch_open('b')",
                "SELECT * FROM larder.enqueue_many('{http://a/2}', batch => 'b')", "SELECT larder.batch_pause('b')",
                "SELECT larder.batch_open('b2')",
                "SELECT larder.batch_resume('b')", "SELECT larder.batch_id('b')", "SELECT larder.batch_seal('b')",
                "SELECT * FROM larder.progress", "SELECT * FROM larder.ready_v1()", "SELECT larder.notify()",
                "SELECT larder.batch_open('empty')", "SELECT larder.batch_seal('empty')",
                "CALL larder.wait_batch('empty')", "SELECT larder.batch_cancel('b')", "SELECT * FROM larder.failed",
                "SELECT * FROM larder.stored_file", "SELECT * FROM larder.waiting", "SELECT * FROM larder.record",
                "SELECT * FROM larder.lookup('{http://a/1}')", "CALL larder.batch_retry_failed('b2')",
            ],
            [
                "SELECT * FROM larder_data.job", "SELECT larder.maintain()",
                "SELECT larder.worker_start_v1('w', 'h', 1, 'v', 1)", "SELECT * FROM larder.check()",
                "SELECT larder_data.quantiles(1, '{0.5}')", "SELECT * FROM larder.health",
                "SELECT larder.unblock_url('http://a/1')", "SELECT larder.queue_limit('default', 1)",
                "SELECT larder.origin_limit('http://a', 1)",
            ]
        ),
        (
            "larder_worker",
            [
                "SELECT larder.worker_start_v1('w', 'h', 1, 'v', 1)", "SELECT * FROM larder.remaining()",
                "SELECT count(*) FROM larder.maintain(true)", "SELECT * FROM larder.failed",
                "SELECT * FROM larder.progress",
            ],
            [
                "SELECT * FROM larder_data.job", "SELECT * FROM larder.enqueue('http://a/1')",
                "SELECT * FROM larder.blocklist", "SELECT * FROM larder_data.owner_statements()",
                "SELECT larder.queue_limit('default', 1)", "SELECT larder_data.lock_limits('{1}')",
                "SELECT larder_data.take_call()",
            ]
        ),
        (
            "larder_reader",
            [
                "SELECT * FROM larder.progress", "SELECT * FROM larder.queue", "SELECT * FROM larder.worker",
                "SELECT * FROM larder.running", "SELECT * FROM larder.failed", "SELECT * FROM larder.record",
                "SELECT * FROM larder.blocklist", "SELECT * FROM larder.throughput", "SELECT * FROM larder.health",
                "SELECT * FROM larder.maintenance", "SELECT * FROM larder.pipeline", "SELECT * FROM larder.check()",
                "SELECT * FROM larder.held_origin", "SELECT * FROM larder.gauges_v1()",
            ],
            [
                "SELECT * FROM larder_data.job", "SELECT * FROM larder.enqueue('http://a/1')",
                "SELECT larder.maintain()", "SELECT * FROM larder.claim_v1(1, 1, 1)",
                "SELECT larder.pipeline_set('p', '{\"variants\":[]}')", "SELECT larder.batch_seal('1')",
                "SELECT larder.cancel(1)",
                "SELECT * FROM larder.origin_holds_v1()", "SELECT larder.queue_limit('default', 1)",
            ]
        ),
        (
            "larder_admin",
            [
                "SELECT * FROM larder.enqueue('http://a/1', batch => 'b')", "SELECT * FROM larder.check()",
                "SELECT larder.worker_start_v1('w', 'h', 1, 'v', 1)", "SELECT * FROM larder.health",
                "SELECT larder.pipeline_set('p', '{\"variants\":[]}')", "SELECT count(*) FROM larder.maintain(true)",
                "SELECT larder.batch_pause('b')", "SELECT larder.batch_resume('b')", "SELECT larder.cancel(1)",
                "SELECT larder.block_url('http://a/2')", "SELECT larder.unblock_url('http://a/2')",
                "SELECT larder.queue_pause('default')", "SELECT larder.queue_resume('default')",
                "SELECT larder.queue_limit('default', 1, 0.5)", "SELECT larder.queue_limit('default')",
                "SELECT larder.batch_cancel('b')", "CALL larder.wait_batch('b')", "SELECT * FROM larder.job_status(1)",
            ],
            ["SELECT * FROM larder_data.job", "SELECT larder_data.secure()", "CREATE TABLE larder.mine (x int)"]
        ),
    ]

    @Test(arguments: RoleTests.rights.indices)
    func `a role can do its work and nothing else`(index: Int) async throws {
        let fixture = try await QueueFixture.make()
        let (role, may, mayNot) = Self.rights[index]
        let connection = fixture.otherConnection()
        _ = try await connection.rows("SET ROLE \(role)")
        for statement in may { _ = try await connection.rows(statement) }
        for statement in mayNot {
            await #expect("\(role): \(statement)") { try await connection.rows(statement) } throws: {
                ($0 as? QueueError)?.sqlState == "42501"
            }
        }
    }

    @Test func `a worker's login with nothing but its role does a whole round, for a producer that cannot read tables`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        let enqueuer = try await fixture.login("larder_producer")
        let queue = try await fixture.login("larder_worker")
        try await enqueuer.checkReady()
        _ = try await enqueuer.producer.setPipeline(name: "p", spec: #"{"name":"p","variants":[]}"#)
        var request = EnqueueRequest(urls: ["http://a/1", "http://a/2", "http://a/3"], batch: "batch")
        request.pipeline = "p"
        _ = try await enqueuer.producer.enqueue(request)
        try await enqueuer.producer.seal(.name("batch"))
        try await queue.checkReady()
        let worker = try await queue.workers.start(
            WorkerDescription(name: "w", host: "h", processID: 1, version: "v", slots: 3))
        let jobs = try await worker.claim(upTo: 3)
        #expect(try await queue.workers.pipeline(id: try #require(jobs.first).pipeline).name == "p")
        #expect(try await worker.heartbeat().leaseExpired == false)
        _ = try await worker.complete([
            Outcome(jobs[0].held, .succeeded), Outcome(jobs[1].held, .failed(.notAnImage)),
        ])
        try await worker.release([jobs[2].held])
        try await queue.workers.maintain(force: true)
        #expect(try await queue.reports.remaining().hasReady)
        let last = try #require(try await worker.claim(upTo: 3).first)
        _ = try await worker.complete([.unavailable(last.held)])
        try await worker.stop()
        let report = try await queue.reports.summary(of: .name("batch"))
        #expect(report.progress.succeeded == 1)
        #expect(report.failures.map(\.error.code) == [1001])
        #expect(try await queue.reports.records(of: report.progress.id).count == 2)
        #expect(try await enqueuer.reports.progress(of: .name("batch")).open == 1)
        #expect(try await enqueuer.reports.summary(of: .name("batch")).failures.map(\.error.code) == [1001])
        await #expect { try await queue.producer.enqueue(EnqueueRequest(urls: ["http://a/9"], batch: "x")) } throws: {
            ($0 as? QueueError)?.sqlState == "42501"
        }
        try await fixture.expectSound()
    }

    @Test func `a login that may make no roles migrates all the same, and what it lacks is named`() async throws {
        let fixture = try await QueueFixture.make()
        let empty = try await TemporaryDatabase.make()
        let owner = Connection(PostgresJobQueue.Configuration(databaseURL: empty.url), name: "test-owner")
        let login = try await fixture.makeLogin()
        var configuration = PostgresJobQueue.Configuration(databaseURL: fixture.url(empty.url, as: login))
        configuration.connectTimeout = .seconds(30)
        let migrator = Migrator(configuration)
        await #expect { try await migrator.migrate() } throws: { error in
            let error = error as? QueueError
            return error?.sqlState == "42501" && error?.message.contains("CREATE on the database") == true
        }
        _ = try await owner.rows(
            "DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO \(login)', current_database()); END $$")
        #expect(try await migrator.pending().count == Migration.all.count)
        #expect(try await migrator.migrate().count == Migration.all.count)
        #expect(try await migrator.pending().isEmpty)
        let stranger = try await fixture.makeLogin()
        let later = Migrator(
            PostgresJobQueue.Configuration(databaseURL: fixture.url(empty.url, as: stranger)),
            migrations: Migration.all + [Migration("0099_later", "SELECT 1")])
        await #expect { try await later.migrate() } throws: {
            ($0 as? QueueError)?.message.contains("the owner of schema larder_data") == true
        }
        // The worker acts as the owner of the tables, who is no superuser.
        let queue = PostgresJobQueue(configuration)
        try await queue.checkReady()
        try await queue.workers.maintain(.owner)
        let ran = try await owner.rows("SELECT isfinite(next_at) FROM larder_data.maintenance WHERE task = 'vacuum'")
        #expect(ran == [["t"]])
        await queue.close()
        _ = try await owner.rows("DROP OWNED BY \(login) CASCADE")
    }

    @Test func `databases of one server may make the roles at the same moment`() async throws {
        // A server of its own: on the one of the other tests the roles are there.
        let home = try ClusterHome()
        let cluster = EmbeddedCluster(home.configuration("roles", disposable: true))
        let url = try await cluster.start()
        let session = try AdminSession(url)
        for number in 0..<4 { try session.execute("CREATE DATABASE race_\(number)") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                let own = url.replacing("/larder?", with: "/race_\(number)?")
                group.addTask { try await Migrator(.init(databaseURL: own)).migrate() }
            }
            try await group.waitForAll()
        }
        let members = try session.execute("SELECT count(*) FROM pg_auth_members WHERE member = 'larder_admin'::regrole")
        #expect(members == "3")
        try await cluster.stop()
    }
}

extension QueueFixture {
    /// A queue whose login has one role and nothing else.
    func login(_ role: String, _ attributes: String = "") async throws -> PostgresJobQueue {
        let name = try await makeLogin(attributes)
        try await sql("GRANT \(role) TO \(name)")
        return PostgresJobQueue(PostgresJobQueue.Configuration(databaseURL: url(database.url, as: name)))
    }

    /// A login without any right.
    func makeLogin(_ attributes: String = "") async throws -> String {
        let name = "larder_test_" + String(UInt64.random(in: 0 ... .max), radix: 36)
        try await sql("CREATE ROLE \(name) LOGIN PASSWORD '\(name)' \(attributes)")
        return name
    }

    /// A database's URL for another login: what comes last counts.
    func url(_ url: String, as login: String) -> String {
        url + (url.contains("?") ? "&" : "?") + "user=\(login)&password=\(login)"
    }
}
