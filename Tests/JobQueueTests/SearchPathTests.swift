import TestSupport
import Testing

@testable import JobQueue

/// Operators of another role in the caller's search_path, and locks that any login can take.
@Suite(.timeLimit(.minutes(5)))
struct SearchPathTests {
    /// In schema public an operator for each pair of common types for which pg_catalog has none: Postgres prefers an
    /// exact match there to a conversion. Each call leaves a row in `public.seen`.
    private static let foreignOperators = [
        "CREATE TABLE public.seen (operator text)", "CREATE SEQUENCE public.numbers",
        """
        CREATE FUNCTION public.note(operator text) RETURNS boolean LANGUAGE sql SECURITY DEFINER AS
        'INSERT INTO public.seen VALUES (operator) RETURNING NULL::boolean'
        """,
        """
        DO $$
        DECLARE
            o record;
        BEGIN
            FOR o IN
                SELECT l.oid::regtype AS l, r.oid::regtype AS r, op.name, format('public.f%s', nextval('public.numbers')) AS f,
                    CASE WHEN op.name IN ('+', '-', '*', '/') THEN l.oid::regtype::text WHEN op.name = '||' THEN 'text'
                        ELSE 'boolean' END AS result
                FROM pg_type l, pg_type r, unnest('{=,<>,<,<=,>,>=,+,-,*,/,||,~,&}'::text[]) AS op (name)
                WHERE l.typnamespace = 'pg_catalog'::regnamespace AND r.typnamespace = 'pg_catalog'::regnamespace
                  AND ARRAY[l.typname, r.typname]::text[] <@ '{bool,bytea,char,name,int8,int2,int4,text,json,float4,float8,numeric,
                    varchar,date,timestamptz,timestamp,interval}'
                  AND NOT EXISTS (
                    SELECT FROM pg_operator x WHERE x.oprname = op.name AND x.oprleft = l.oid AND x.oprright = r.oid)
            LOOP
                EXECUTE format('CREATE FUNCTION %s(%s, %s) RETURNS %s LANGUAGE sql AS %L', o.f, o.l, o.r, o.result, format(
                    'SELECT CASE WHEN public.note(%L) THEN NULL::%s END', concat_ws(' ', o.l, o.name, o.r), o.result));
                EXECUTE format(
                    'CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %s)', o.name, o.l, o.r, o.f);
            END LOOP;
        END $$
        """,
    ]

    @Test func `no operator in the caller's search_path runs when an owner reads progress, waits or maintains`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1", "http://a/2", "nothing"])
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 2)
        _ = try await worker.complete([Outcome(jobs[0].held, .succeeded), .unavailable(jobs[1].held)])
        try await fixture.queue.workers.maintain(force: true)
        try await fixture.sql("UPDATE larder_data.batch SET created_at = created_at - interval '1 hour'")
        for statement in Self.foreignOperators { try await fixture.sql(statement) }
        try await fixture.sql("SELECT 1::bigint / 2::double precision")
        #expect(try await fixture.value("SELECT operator FROM public.seen") == "bigint / double precision")
        try await fixture.sql("TRUNCATE public.seen")

        // New sessions: one that has parsed a function keeps its operators.
        await fixture.reconnect()
        _ = try await fixture.queue.reports.progress()
        _ = try await fixture.queue.reports.progress(of: .name("batch"))
        _ = try await fixture.queue.reports.summary(of: .name("batch"))
        _ = try await fixture.queue.reports.remaining()
        _ = try await fixture.queue.reports.blocklist()
        _ = try await fixture.queue.reports.heldOrigins()
        _ = try await fixture.queue.reports.check()
        _ = try await fixture.queue.reports.health()
        try await fixture.queue.operations.block(["http://a/3"])
        try await fixture.queue.operations.holdOrigin("http://b/", for: .seconds(1))
        try await fixture.enqueue(["http://a/4"])
        try await fixture.queue.workers.maintain(force: true)
        try await fixture.queue.workers.maintain(.owner)
        _ = try await Migrator(fixture.configuration).status()
        for view in ["progress", "queue", "worker", "throughput", "health", "held_origin", "record", "attempt"] {
            try await fixture.sql("SELECT * FROM larder.\(view)")
        }
        await #expect { try await fixture.sql("CALL larder.wait_batch('batch', '50 ms')") } throws: {
            ($0 as? QueueError)?.sqlState == "LA008"
        }
        let seen = try await fixture.sql("SELECT DISTINCT operator FROM public.seen")
        #expect(seen.isEmpty, "\(seen)")
    }

    /// What views and parsed bodies of functions use that another role may have made.
    private static let foreignUses = """
        SELECT pg_describe_object(d.classid, d.objid, 0), pg_describe_object(d.refclassid, d.refobjid, 0)
        FROM pg_depend d
        LEFT JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
        LEFT JOIN pg_class c ON c.oid = w.ev_class
        LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid AND p.prosqlbody IS NOT NULL
        LEFT JOIN pg_operator o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
        LEFT JOIN pg_proc f ON d.refclassid = 'pg_proc'::regclass AND f.oid = d.refobjid
        WHERE coalesce(c.relnamespace, p.pronamespace) IN ('larder'::regnamespace, 'larder_data'::regnamespace)
          AND coalesce(o.oprnamespace, f.pronamespace) NOT IN (
              'pg_catalog'::regnamespace, 'larder'::regnamespace, 'larder_data'::regnamespace)
        ORDER BY 1, 2
        """

    @Test func `no view and no parsed function uses an operator or a function of another schema`() async throws {
        let fixture = try await QueueFixture.make()
        let uses = try await fixture.sql(Self.foreignUses)
        #expect(uses.isEmpty, "\(uses)")
        for statement in [
            "CREATE FUNCTION public.f(int, int) RETURNS int LANGUAGE sql AS 'SELECT $1'",
            "CREATE OPERATOR public.=== (LEFTARG = int, RIGHTARG = int, FUNCTION = public.f)",
            "CREATE VIEW larder.v AS SELECT 1 OPERATOR(public.===) 2 AS x",
            "CREATE FUNCTION larder_data.g() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT public.f(1, 2); END",
        ] {
            try await fixture.sql(statement)
        }
        let found = try await fixture.sql(Self.foreignUses).map { $0[1] }
        #expect(found == ["function f(integer,integer)", "operator ===(integer,integer)"])
    }

    @Test func `advisory locks of a login without rights hold up no worker and no migration`() async throws {
        let fixture = try await QueueFixture.make()
        let users = """
            SELECT oid::regprocedure::text FROM pg_proc
            WHERE prosrc ~ 'pg_(try_)?advisory' AND pronamespace IN ('larder'::regnamespace, 'larder_data'::regnamespace)
            """
        #expect(try await fixture.sql(users).isEmpty)
        try await fixture.enqueue(["http://a/1"])
        let worker = try await fixture.startWorker()
        let login = try await fixture.makeLogin()
        let stranger = Connection(
            .init(databaseURL: fixture.url(fixture.database.url, as: login)), name: "test-stranger")
        _ = try await stranger.rows("BEGIN")
        _ = try await stranger.rows(
            "SELECT pg_advisory_xact_lock(1280267332, (\(worker.id) % 2147483647)::int), pg_advisory_xact_lock(119165786809714)"
        )
        #expect(try await worker.claim(upTo: 1).count == 1)
        #expect(try await Migrator(fixture.configuration).migrate().isEmpty)
        await stranger.close()
    }
}
