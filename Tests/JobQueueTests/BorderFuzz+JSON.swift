import Foundation

/// JSON as callers send it: mostly of the right shape, with a value here and there that is not.
extension BorderFuzz {
    mutating func json(_ name: String) -> String? {
        if chance(4) { return nil }
        let text =
            switch name {
            case "results": results()
            case "request": request()
            case "settings": setting()
            case "spec":
                pick([#"{"variants": []}"#, #"{"variants": [{"name": "a"}]}"#, #"{"variants": [\#(hostile())]}"#])
            case "metas", "meta", "context": pick([#"{"a": 1}"#, #"{"a": 1}"#, #"{"a": \#(hostile())}"#, hostile()])
            default: hostile()
            }
        return chance(2) ? broken(text) : text
    }

    private mutating func broken(_ text: String) -> String {
        pick([
            text.replacing("1", with: "1e400", maxReplacements: 1), String(text.dropLast()), "",
            String(repeating: "[", count: 500) + String(repeating: "]", count: 500),
        ])
    }

    /// A value of any type and size.
    private mutating func hostile() -> String {
        pick([
            "null", "0", "-1", "1.5", "9223372036854775807", "9223372036854775808", "1e30", "-1e30", "true", "[]", "{}",
            "[1]",
            #""""#, #""x""#, #""12""#, #""NaN""#, #""Infinity""#, #""\u0000""#, #""a\u0000b""#, #""\ud800""#,
            #""\\u0000""#,
            #""\#(letters(3_000))""#, #"{"a": {"b": [null, 1e400]}}"#, #"{"": 1, "a": 1, "a": 2}"#, #""2100-01-01""#,
            #"{"variants": [{}]}"#, #""\#(letters(70_000))""#,
        ])
    }

    private mutating func object(_ fields: [(String, String)]) -> String {
        "{" + fields.map { #""\#($0.0)": \#($0.1)"# }.joined(separator: ", ") + "}"
    }

    private mutating func results() -> String {
        if chance(5) { return hostile() }
        var list = (0..<pick([0, 1, 1, 1, 2, 5])).map { _ in result() }
        if chance(5), let first = list.first { list.append(pick([first, "5", "null", "[]"])) }
        return "[" + list.joined(separator: ", ") + "]"
    }

    private mutating func result() -> String {
        let held = running.isEmpty || chance(10) ? [pick(jobs), nil, "1"] : pick(running)
        var fields = [("job", held[0] ?? "1"), ("claim", held[2] ?? "1")]
        let kind = pick(["succeeded", "succeeded", "failed", "failed", "cancelled"])
        fields.append(("result", #""\#(kind)""#))
        if kind == "failed" {
            let domain = pick([
                "NSURLErrorDomain", "SDWebImageErrorDomain", "LarderErrorDomain", letters(2_800), "", "é",
            ])
            fields.append(("domain", #""\#(domain)""#))
            fields.append(("code", pick(["-1001", "1001", "301", "401", "1099511627776", "-9223372036854775808"])))
            fields.append(("message", #""\#(letters(pick([1, 5_000])))""#))
        }
        if chance(50) { fields.append(("stored", chance(50) ? "[\(file()), \(file())]" : hostile())) }
        for name in [
            "bytes_in", "bytes_out", "downloads", "variants", "wait_ms", "connection_wait_ms", "dns_ms",
            "fetch_ms", "transcoder_wait_ms", "transcode_ms", "store_ms",
            "http_status",
            "retry_after_ms",
        ] where chance(15) {
            fields.append((name, pick(["9223372036854775807", "-1000", "1099511627777", "1e60", "0", "1.5"])))
        }
        if chance(8) { fields[pick(Array(fields.indices))].1 = hostile() }
        return object(fields)
    }

    private mutating func file() -> String {
        var fields = [
            ("name", "null"), ("key", #""k""#), ("path", #""p""#), ("format", #""jpeg""#), ("width", "1"),
            ("height", "2"),
            ("bytes", "3"), ("sha256", #""00""#), ("digest", #"{"thumbHash": "x"}"#),
        ]
        for _ in 0..<pick([0, 0, 1, 2]) {
            fields[pick(Array(fields.indices))].1 = pick([hostile(), "12.5", #""12.5""#, "-4", "1e10", "1e400"])
        }
        return object(fields)
    }

    private mutating func request() -> String {
        var fields = [("batch", #""b\#(pick(Array(0..<9)))""#)]
        for (name, usual) in [
            ("pipeline", #""card""#), ("pipeline_spec", #"{"variants": []}"#), ("priority", "3"),
            ("at", #""2000-01-01""#),
            ("delay", #""1 s""#), ("options", #"["retryFailed"]"#), ("context", "{}"), ("max_attempts", "2"),
            ("retry_base", #""1 s""#), ("queue", #""second""#), ("fresh_for", #""1 h""#), ("cache_id", #""c""#),
            ("not_after", #""2100-01-01""#), ("valid_for", #""1 h""#), ("on_running", #""again""#),
            ("on_finished", #""https://a.b/c""#),
        ] where chance(15) {
            fields.append((name, chance(70) ? usual : hostile()))
        }
        return object(fields)
    }

    private mutating func setting() -> String {
        pick([
            #"{"priority": 3}"#, "{}", #"{"delay": "1 s"}"#, #"{"at": "2000-01-01"}"#, #"{"priority": \#(hostile())}"#,
            hostile(),
        ])
    }
}
