import Foundation
import TestSupport
import Testing

@testable import JobQueue

/// The plans of the hot statements, as the functions make them: by index or tuple id, whatever the statistics say.
///
/// auto_explain reports the plans, also of statements within functions; psql prints them.
@Suite(.timeLimit(.minutes(5)))
struct PlanTests {
    enum Statistics: String, CaseIterable, CustomTestStringConvertible {
        case never = "never made"
        case stale = "made while the tables were empty"
        case huge = "of a billion rows a page"
        case emptied = "made while the tables were full, and empty now"
        var testDescription: String { rawValue }
    }

    /// One statement, and what its plan must show.
    struct Hot {
        let name: String
        /// Statements that run before the plans are recorded; they may set psql variables.
        var before = ""
        let sql: String
        /// Besides the big tables' indexes, small tables may be read whole.
        let shows: [String]
    }

    private static func held(_ count: Int) -> String {
        """
        SELECT array_agg(job_id) AS jobs, array_agg(claim_no) AS claims,
            json_agg(json_build_object('job', job_id, 'claim', claim_no, 'result', 'succeeded', 'downloads', 1)) AS succeeded,
            json_agg(json_build_object('job', job_id, 'claim', claim_no, 'result', 'failed', 'http_status', 503,
                'domain', 'SDWebImageErrorDomain', 'code', 2001 - job_id % 2 * 1000)) AS failed
        FROM (SELECT * FROM larder_data.running ORDER BY job_id LIMIT \(count)) AS r \\gset
        """
    }

    /// In an order in which each has something to do.
    static let hot: [Hot] = [
        Hot(
            name: "enqueue what is new",
            sql: """
                SELECT count(*) FROM larder.enqueue_many(ARRAY(SELECT 'http://new/' || i FROM generate_series(1, 100) AS i), batch => 'b')
                """, shows: ["origin_name_key", "job_key_key"]),
        Hot(
            name: "enqueue URLs that are live, blocked or fresh",
            sql: """
                SELECT count(*) FROM larder.enqueue_many(ARRAY(SELECT 'http://host/' || i FROM generate_series(1, 300) AS i), batch => 'b',
                    fresh_for => '1 day', cache_id => 'c', priority => 1)
                """, shows: ["origin_name_key", "blocklist_pkey", "hashtextextended", "job_key_key", "adding_pkey"]),
        Hot(
            name: "claim", sql: "SELECT count(*) FROM larder.claim_v1(:worker, 100, 10)",
            shows: ["ready_turn", "job_pkey"]),
        Hot(
            name: "claim one", sql: "SELECT count(*) FROM larder.claim_v1(:worker, 101, 1)",
            shows: ["ready_turn", "job_pkey", "origin_pkey", "blocklist_pkey"]),
        Hot(
            name: "claim sent again", sql: "SELECT count(*) FROM larder.claim_v1(:worker, 100, 10, again => true)",
            shows: ["running_claim", "job_pkey"]),
        Hot(
            name: "claim of one batch", sql: "SELECT count(*) FROM larder.claim_v1(:worker, 12, 10, only_batch => '1')",
            shows: ["job_batch", "job_item_batch", "ready_pkey"]),
        Hot(
            name: "claim with a paused batch",
            before: "UPDATE larder_data.batch SET paused_at = now() WHERE name = 'p';",
            sql: "SELECT count(*) FROM larder.claim_v1(:worker, 102, 10)",
            shows: ["ready_turn", "job_pkey", "batch_pkey"]),
        Hot(
            name: "claim behind paused batches", before: "BEGIN; UPDATE larder_data.batch SET paused_at = now();",
            sql: "SELECT count(*) FROM larder.claim_v1(:worker, 103, 10)",
            shows: ["ready_turn", "job_pkey", "job_item", "batch_pkey"]),
        Hot(
            name: "claim with a held origin",
            before: "ROLLBACK; SELECT larder.origin_hold('http://elsewhere', '1 hour');",
            sql: "SELECT count(*) FROM larder.claim_v1(:worker, 104, 10)",
            shows: ["ready_turn", "job_pkey", "origin_hold_pkey"]),
        Hot(
            name: "claim behind a held origin", before: "BEGIN; SELECT larder.origin_hold('http://host', '1 hour');",
            sql: "SELECT count(*) FROM larder.claim_v1(:worker, 105, 10)",
            shows: ["ready_turn", "job_pkey", "origin_hold_pkey"]),
        Hot(
            name: "holds",
            before: "ROLLBACK; BEGIN; SELECT larder.origin_hold('http://host', '1 hour');",
            sql: "SELECT larder_data.run_task('holds')",
            shows: ["ready_turn", "job_pkey", "origin_hold_pkey"]),
        Hot(
            name: "claim of a queue with limits", before: "ROLLBACK; SELECT larder.queue_limit('default', 900, 900);",
            sql: "SELECT count(*) FROM larder.claim_v1(:worker, 106, 10)",
            shows: ["ready_turn", "claim_limit_pkey"]),
        Hot(
            name: "claim of one batch in a queue with limits",
            sql: "SELECT count(*) FROM larder.claim_v1(:worker, 13, 10, only_batch => '1')",
            shows: ["job_batch", "job_item_batch", "claim_limit_pkey"]),
        Hot(
            name: "complete one success", before: held(1),
            sql: "SELECT count(*) FROM larder.complete_v1(:worker, :'succeeded')", shows: ["running_pkey", "job_pkey"]),
        Hot(
            name: "complete one success that unblocks",
            before: held(1) + "\nUPDATE larder_data.job SET options = 1 WHERE id = ANY (:'jobs');",
            sql: "SELECT count(*) FROM larder.complete_v1(:worker, :'succeeded')",
            shows: ["larder_data.blocklist x", "blocklist_pkey"]),
        Hot(
            name: "complete successes", before: held(10),
            sql: "SELECT count(*) FROM larder.complete_v1(:worker, :'succeeded')",
            shows: ["running_pkey", "job_pkey", "job_item"]),
        Hot(
            name: "complete failures", before: held(10),
            sql: "SELECT count(*) FROM larder.complete_v1(:worker, :'failed')", shows: ["running_pkey", "job_pkey"]),
        Hot(
            name: "complete what is stale",
            sql: """
                SELECT count(*) FROM larder.complete_v1(:worker, '[{"job": 1, "claim": 77, "result": "succeeded"},
                    {"job": 2, "claim": 77, "result": "failed"}, {"job": 3, "claim": 77, "result": "cancelled"}]')
                """, shows: ["job_history", "job_pkey"]),
        Hot(
            name: "release", before: held(5), sql: "SELECT larder.release_v1(:worker, :'jobs', :'claims')",
            shows: ["running_pkey", "job_pkey"]),
        Hot(
            name: "heartbeat", sql: "SELECT count(*) FROM larder.heartbeat_v1(:worker)",
            shows: ["running_claim", "job_pkey", "maintenance_pkey"]),
        Hot(
            name: "promote", sql: "SELECT larder_data.run_task('promote')",
            shows: ["Tid Scan on scheduled", "scheduled_due", "job_pkey"]),
        Hot(
            name: "rescue",
            before: "UPDATE larder_data.worker SET heartbeat_at = '-infinity', lease_ms = 1 WHERE id = :worker;",
            sql: "SELECT larder_data.run_task('rescue')", shows: ["Tid Scan on running", "running_claim", "job_pkey"]),
        Hot(
            name: "progress of one batch", sql: "SELECT count(percent) FROM larder.progress WHERE batch_id = 1",
            shows: ["batch_pkey", "batch_total_pkey", "batch_delta_batch"]),
        Hot(
            name: "open items", sql: "SELECT larder_data.open_items(1::smallint)",
            shows: ["batch_total_pkey", "batch_delta_"]),
        Hot(
            name: "details of many batches",
            sql: "SELECT count(*) FROM larder.progress_details(ARRAY(SELECT generate_series(1, 50)))",
            shows: ["batch_detail_key", "batch_delta_"]),
        Hot(
            name: "newest failures",
            sql: """
                SELECT count(*) FROM larder.newest_failures(NULL, 50, now(), 9);
                SELECT count(*) FROM larder.newest_failures(1, 50, now(), 9);
                SELECT count(*) FROM larder.recent_jobs(50)
                """,
            shows: ["_finished_at_job_id_idx", "_batch_id_job_id_idx1"]),
        Hot(
            name: "newest jobs of a batch",
            sql: """
                SELECT (SELECT count(*) FROM larder.batch_jobs(1, 50, 1000000)),
                    (SELECT count(*) FROM larder.newest_failures(1, 50, only_items => true))
                """, shows: ["_batch_id_job_id_idx", "origin_pkey"]),
        Hot(
            name: "finish", sql: "SELECT larder_data.run_task('finish')",
            shows: ["batch_unfinished", "job_batch", "job_item_batch"]),
    ]

    /// 2,000 ready jobs, some of them joined, scheduled, blocked or stored, and a history.
    static let fill = """
        UPDATE larder_data.settings SET lease_ms = 3600000;
        SELECT worker_id AS worker FROM larder.worker_start_v1('w', 'h', 1, 'v', 8, 'c') \\gset
        SELECT count(*) FROM larder.enqueue_many(ARRAY(SELECT 'http://host/' || i FROM generate_series(1, 2000) AS i), batch => 'a');
        SELECT count(*) FROM larder.enqueue_many(ARRAY(SELECT 'http://host/' || i FROM generate_series(1, 40) AS i), batch => 'c');
        SELECT count(*) FROM larder.enqueue_many(ARRAY(SELECT 'http://later/' || i FROM generate_series(1, 200) AS i), batch => 'a', at => now() + '1 day');
        SELECT count(*) FROM larder.enqueue_many(ARRAY(SELECT 'http://other/' || i FROM generate_series(1, 200) AS i), batch => 'p', priority => 0);
        SELECT count(*) FROM larder.block_many(ARRAY(SELECT 'http://blocked/' || i FROM generate_series(1, 500) AS i));
        INSERT INTO larder_data.job_history (created_at, job_id, batch_id, options, pipeline_id, origin_id, items, outcome, priority, attempt, rescues, url, cache_id)
        SELECT now(), -i, 1, 0, 1, 1, 1, 'succeeded', 4, 1, 0, 'http://stored/' || i, 1 FROM generate_series(1, 5000) AS i;
        SELECT count(*) FROM larder.claim_v1(:worker, 1, 300);
        SELECT count(*) FROM (SELECT larder.complete_v1(:worker, json_agg(json_build_object('job', job_id, 'claim', claim_no, 'result', 'succeeded'))) FROM (SELECT * FROM larder_data.running ORDER BY job_id DESC LIMIT 250) AS r) AS s;
        SELECT larder.batch_seal('c');
        INSERT INTO larder_data.batch (queue_id, finished_at) SELECT 1, now() FROM generate_series(1, 5000);
        INSERT INTO larder_data.batch_total SELECT id, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 FROM larder_data.batch;
        INSERT INTO larder_data.batch_delta (batch_id, retries) SELECT id, 1 FROM larder_data.batch, generate_series(1, 4);
        UPDATE larder_data.scheduled SET run_at = now() - interval '1 s' WHERE job_id IN (SELECT job_id FROM larder_data.scheduled ORDER BY job_id LIMIT 50);
        """

    /// What remains in each table when the statistics speak of many rows: enough that each statement has work.
    static let emptied = """
        DELETE FROM larder_data.job j WHERE j.id IN (SELECT r.job_id FROM larder_data.ready r ORDER BY r.job_id DESC LIMIT 1500);
        DELETE FROM larder_data.ready r WHERE NOT EXISTS (SELECT FROM larder_data.job j WHERE j.id = r.job_id);
        DELETE FROM larder_data.blocklist;
        """

    static let tables = [
        "job", "job_item", "ready", "scheduled", "running", "suspended", "batch", "batch_delta", "batch_total",
        "origin",
        "blocklist", "job_history", "job_attempt",
    ]

    static let analyze = tables.map { "ANALYZE larder_data.\($0);" }.joined(separator: "\n")

    private func script(_ statistics: Statistics) -> String {
        let quiet = """
            \\set QUIET 1
            \\set ON_ERROR_STOP 1
            \\pset tuples_only on
            SELECT format('ALTER TABLE %s SET (autovacuum_enabled = off)', oid::regclass) FROM pg_class
            WHERE relnamespace = 'larder_data'::regnamespace AND relkind = 'r' \\gexec
            """
        let huge = """
            UPDATE pg_class SET reltuples = 1e9, relpages = 1
            WHERE relnamespace = 'larder_data'::regnamespace AND relkind IN ('r', 'i') AND relname NOT LIKE 'batch_delta%';
            """
        let prepared =
            switch statistics {
            case .never: [quiet, Self.fill]
            case .stale: [quiet, Self.analyze, Self.fill]
            case .huge: [quiet, Self.fill, Self.analyze, huge]
            case .emptied: [quiet, Self.fill, Self.analyze, Self.emptied]
            }
        let watched = """
            LOAD 'auto_explain';
            SET auto_explain.log_min_duration = 0;
            SET auto_explain.log_nested_statements = on;
            SET auto_explain.log_analyze = off;
            SET client_min_messages = log;
            """
        let statements = Self.hot.map { "\($0.before)\n\\warn ==== \($0.name)\n\($0.sql);\n\\warn ==== end\n" }
        return (prepared + ["\\connect", watched] + statements).joined(separator: "\n")
    }

    @Test(arguments: Statistics.allCases)
    func `hot statements go by index or tuple id`(statistics: Statistics) async throws {
        let database = try await TemporaryDatabase.make(template: "migrated") { url in
            try await Migrator(PostgresJobQueue.Configuration(databaseURL: url)).migrate()
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let psql = try RunningCommand(
            "psql", ["-X", "-d", database.directURL, "-f", "-"],
            // The level of a worker's calls: a serializable enqueue does not look for live jobs first.
            environment: ["PATH": path, "PGOPTIONS": #"-c default_transaction_isolation=read\ committed"#],
            input: Array(script(statistics).utf8))
        let outcome = await psql.outcome()
        let output = String(decoding: outcome.errors, as: UTF8.self)
        #expect(outcome.code == 0, "\(output.suffix(2_000))")
        var plans: [String: String] = [:]
        for part in output.components(separatedBy: "==== ").dropFirst() {
            let name = String(part.prefix { $0 != "\n" })
            plans[name, default: ""] += part.dropFirst(name.count)
        }
        for hot in Self.hot {
            let plan = try #require(plans[hot.name])
            for sight in hot.shows { #expect(plan.contains(sight), "\(hot.name) shows no \(sight):\n\(plan)") }
            for line in plan.split(separator: "\n") where line.contains("Seq Scan on ") {
                let table = line.components(separatedBy: "Seq Scan on ")[1].prefix { !$0.isWhitespace }
                let isBig = Self.tables.contains { table == $0 || table.hasPrefix($0 + "_2") }
                #expect(!isBig, "\(hot.name): \(line)")
            }
        }
    }
}
