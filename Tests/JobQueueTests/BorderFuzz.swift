import TestSupport

@testable import JobQueue

/// Random calls of every public routine, with values of every kind: NULL, huge, negative, hostile JSON and names.
struct BorderFuzz {
    struct Argument {
        let name: String
        let type: String
        let isOptional: Bool
    }
    struct Routine {
        let name: String
        let isProcedure: Bool
        var arguments: [Argument] = []
    }

    static let roles = ["larder_producer", "larder_worker", "larder_reader", "larder_admin"]
    /// One row per argument, of each routine of schema larder.
    static let catalog = """
        SELECT p.oid, p.proname, p.prokind = 'p', a.name, a.type, a.ord > p.pronargs - p.pronargdefaults
        FROM pg_proc p LEFT JOIN LATERAL (
            SELECT n.name, format_type(p.proargtypes[row_number() OVER (ORDER BY n.ord)::int - 1], NULL) AS type,
                row_number() OVER (ORDER BY n.ord) AS ord
            FROM unnest(p.proargnames, p.proargmodes) WITH ORDINALITY AS n (name, mode, ord)
            WHERE coalesce(n.mode, 'i') IN ('i', 'b') LIMIT p.pronargs) AS a ON true
        WHERE p.pronamespace = 'larder'::regnamespace ORDER BY p.oid, a.ord
        """
    /// The routines through which most data enters, which are called more often.
    private static let gates = ["enqueue", "enqueue_many", "enqueue_list", "complete_v1", "claim_v1"]

    var random: SplitMix64
    let routines: [Routine]
    private let gates: [Routine]
    /// Of the live queue: (job, worker, claim) of running jobs, and the ids of jobs, workers and batches.
    var running: [[String?]] = []
    var jobs = ["1"]
    var workers = ["1"]
    var batches = ["1"]
    /// How many elements the arrays of this call have, mostly.
    private var length = 1

    init(seed: UInt64, catalog rows: [[String?]]) {
        random = SplitMix64(seed: seed)
        var found: [Routine] = []
        var last: String?
        for row in rows {
            if row[0] != last { found.append(Routine(name: row[1] ?? "", isProcedure: row[2] == "t")) }
            last = row[0]
            guard let name = row[3], let type = row[4] else { continue }
            found[found.count - 1].arguments.append(Argument(name: name, type: type, isOptional: row[5] == "t"))
        }
        routines = found
        gates = found.filter { Self.gates.contains($0.name) }
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &random)]
    }

    /// Random, so that Postgres cannot compress them, and made once, because one call may ask for a hundred thousand.
    private static let noise: [UInt8] = {
        var random = SplitMix64(seed: 1)
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
        return (0..<150_000).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &random)] }
    }()

    mutating func letters(_ count: Int) -> String {
        let start = Int.random(in: 0..<Self.noise.count - count, using: &random)
        return String(decoding: Self.noise[start..<start + count], as: UTF8.self)
    }

    /// A call, and the role that makes it.
    mutating func next() -> (role: String, routine: String, statement: String) {
        let routine = chance(30) ? pick(gates) : pick(routines)
        length = pick([1, 1, 2, 5, 30])
        var given: [String] = []
        for argument in routine.arguments where !argument.isOptional || chance(40) || argument.name == "timeout" {
            given.append("\(argument.name) => \(value(argument, of: routine))")
        }
        let call = "larder.\(routine.name)(\(given.joined(separator: ", ")))"
        let role = chance(50) ? "larder_admin" : pick(Self.roles)
        return (role, routine.name, routine.isProcedure ? "CALL \(call)" : "SELECT * FROM \(call)")
    }

    private func literal(_ text: String?) -> String {
        text.map { "'\($0.replacing("'", with: "''"))'" } ?? "NULL"
    }

    private mutating func value(_ argument: Argument, of routine: Routine) -> String {
        if argument.type.hasSuffix("[]") {
            return "\(array(String(argument.type.dropLast(2)), argument.name))::\(argument.type)"
        }
        if argument.type == "anyelement" {
            return pick([
                "0", "1", "-1", "9223372036854775807", "1.5", "'NaN'::numeric", "1e30", "true", "NULL::text",
                "'x'::text",
                "'{retryFailed,refreshCached}'::text[]", "'{x,NULL}'::text[]", "'[\"retryFailed\"]'::jsonb",
                "'{}'::jsonb",
            ])
        }
        let text = scalar(argument.type, argument.name, routine.name)
        return "\(literal(text))::\(argument.type)"
    }

    private mutating func array(_ type: String, _ name: String) -> String {
        if chance(5) { return "NULL" }
        let count = chance(90) ? length : pick([0, 1, 2, 7, 31])
        return "ARRAY[" + (0..<count).map { _ in literal(scalar(type, name, "")) }.joined(separator: ", ") + "]"
    }

    private mutating func scalar(_ type: String, _ name: String, _ routine: String) -> String? {
        switch type {
        case "text": text(name, routine)
        case "integer": pick([nil, "0", "1", "3", "9", "10", "-1", "2147483647", "-2147483648", "100", "1001"])
        case "bigint":
            name == "worker" && chance(80)
                ? pick(workers)
                : pick([
                    nil, "0", "1", "-1", "9223372036854775807", "-9223372036854775808", "2147483648",
                    // The number of an item.
                    "450359962737049\(Int.random(in: 6...9, using: &random))", pick(jobs),
                    pick(jobs),
                    pick(workers), pick(batches), pick(batches),
                ])
        case "boolean": pick(["t", "f", nil])
        case "interval" where name == "timeout": pick(["0", "-1 s", "5 ms"])
        case "interval":
            pick([
                nil, "0", "1 ms", "-1 s", "1 h", "1 day", "20 days", "100 years", "178000000 years", "-178000000 years",
            ])
        case "timestamp with time zone":
            pick([nil, "infinity", "-infinity", "294276-12-31", "4713-01-01 BC", "2000-01-01", "2200-01-01", "now"])
        case "double precision": pick([nil, "NaN", "Infinity", "-1", "0", "1e308", "1e-300", "0.5", "1000001"])
        case "bytea": pick([nil, "", "\\xffff"])
        case "json": json(name)
        default: nil
        }
    }

    private mutating func text(_ name: String, _ routine: String) -> String? {
        switch name {
        case "url", "urls", "origin", "origins": return url()
        case "reasons": return pick(["retry-after", "breaker", "closed", "retry-after", "breaker", "closed", nil])
        case "cron": return pick(["@daily", "0 2 * * *", "x", nil])
        case "time_zone": return pick(["UTC", "Europe/Berlin", "x", nil])
        case "query":
            return pick([nil, "SELECT 'http://q/1' AS url", "SELECT 1/0 AS url", "DROP TABLE x", "SELECT ';"])
        default: break
        }
        if chance(60) { return pick(["b0", "b1", "b2", "default", "second", "card", "s1", pick(batches)]) }
        return pick([
            nil, "", "x", letters(201), letters(9_600), "line1\nline2\u{1b}[31mred", "\u{202e}abc", "%s %I $1", "\\",
            "🦊🦊",
            "'; DROP SCHEMA larder CASCADE; --", "b0@1", "b0@-1", "b1@999999999", "12", "99999999999999999999", "-5",
            " ",
        ])
    }

    private mutating func url() -> String? {
        if chance(60) { return "http://h\(pick(Array(0..<8))).x/\(pick(Array(0..<300)))" }
        return pick([
            nil, "", "nothing", "http://", "http://[::1", "http://[::1]:99999/", "ftp://x/y", "http://a b/",
            "http://a:0/",
            "http://\(letters(6_000))/x", "http://\(letters(256))", "http://a/\(letters(8_200))", "HTTP://H0.X:80/1",
            "://",
            "http://a/\t", "http://a/\u{fffd}", "s3://\(letters(300))", "http://@/", "http://u:p@h/", "data:x",
            "http://a:b:c/",
        ])
    }
}
