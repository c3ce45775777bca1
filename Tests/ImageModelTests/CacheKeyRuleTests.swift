import ImageModel
import Testing

/// Cache keys of signed URLs and of several hosts.
@Suite(.timeLimit(.minutes(5)))
struct CacheKeyRuleTests {
    private func rule(_ json: String) throws -> CacheKeyRule { try CacheKeyRule(json: json.utf8) }

    @Test(arguments: [
        ("https://a/b.jpg?token=1", "https://a/b.jpg"),
        ("https://a/b.jpg?token=1&v=2", "https://a/b.jpg?v=2"),
        ("https://a/b.jpg?v=2&token=1&X-Amz-Date=3#f", "https://a/b.jpg?v=2#f"),
        ("https://a/b.jpg?token", "https://a/b.jpg"),
        ("https://a/b.jpg?tokens=1&Token=2", "https://a/b.jpg?tokens=1&Token=2"),
        ("https://a/b.jpg?", "https://a/b.jpg?"), ("https://a/b.jpg?&&v", "https://a/b.jpg?&&v"),
        ("https://a/b.jpg#?token=1", "https://a/b.jpg#?token=1"),
        ("https://a/token=1", "https://a/token=1"), ("plain", "plain"), ("", ""),
        ("https://a/é?token=é", "https://a/é"),
    ])
    func `parameters are left out and every other byte stays`(_ url: String, _ expected: String) throws {
        let key = try rule(#"{"dropQuery":["X-Amz-*","token"]}"#).key(of: url)
        #expect(Array(key.utf8) == Array(expected.utf8))
    }

    @Test func `a lone asterisk leaves out the whole query`() throws {
        #expect(try rule(#"{"dropQuery":["*"]}"#).key(of: "https://a/b?x=1&y#f") == "https://a/b#f")
    }

    @Test(arguments: [
        ("https://cdn1.example.com/a", "https://cdn.example.com/a"),
        ("https://CDN1.example.com:8443/a?b", "https://cdn.example.com:8443/a?b"),
        ("https://u:p@cdn1.example.com", "https://u:p@cdn.example.com"),
        ("https://cdn1.example.com.evil/a", "https://cdn1.example.com.evil/a"),
        ("https://x/cdn1.example.com", "https://x/cdn1.example.com"),
        ("https://[::1]:80/a", "https://local:80/a"), ("cdn1.example.com/a", "cdn1.example.com/a"),
        ("https://x/?u=https://cdn1.example.com/", "https://x/?u=https://cdn1.example.com/"),
    ])
    func `hosts are replaced`(_ url: String, _ expected: String) throws {
        let rule = try rule(#"{"mapHosts":{"cdn1.Example.com":"cdn.example.com","[::1]":"local"}}"#)
        #expect(rule.key(of: url) == expected)
    }

    @Test(arguments: [
        ("{}", "$"), ("[]", "$"), (#"{"dropQuery":"a"}"#, "$.dropQuery"), (#"{"dropQuery":[""]}"#, "$.dropQuery[0]"),
        (#"{"dropQuery":["a","b=c"]}"#, "$.dropQuery[1]"), (#"{"dropQuery":["a*b"]}"#, "$.dropQuery[0]"),
        (#"{"mapHosts":{"a":1}}"#, "$.mapHosts.a"), (#"{"mapHosts":{"a":"b/c"}}"#, "$.mapHosts.a"),
        (#"{"mapHosts":{"a:80":"b"}}"#, "$.mapHosts.a:80"), (#"{"mapHosts":{"a":"b","A":"c"}}"#, "$.mapHosts.a"),
        (#"{"dropQuery":["a"],"drop":1}"#, "$.drop"),
    ])
    func `a malformed rule is refused with its path`(_ json: String, _ path: String) {
        #expect {
            _ = try rule(json)
        } throws: {
            ($0 as? VariantError)?.path == path
        }
    }

    @Test func `a pipeline keeps its rule, which is part of its identity`() throws {
        let json = #"{"cacheKey":{"dropQuery":["token"],"mapHosts":{"a":"b"}},"name":"p","variants":[]}"#
        let pipeline = try Pipeline(json: json.utf8)
        #expect(pipeline.canonicalJSON == json)
        #expect(pipeline.cacheKey?.dropQuery == ["token"])
        #expect(try Pipeline(json: pipeline.canonicalJSON.utf8) == pipeline)
        let (rule, plain) = (try Pipeline.adhoc([], cacheKey: pipeline.cacheKey), try Pipeline.adhoc([]))
        #expect(rule.name != plain.name)
        #expect(rule.cacheKey == pipeline.cacheKey)
        #expect {
            _ = try Pipeline(json: #"{"name":"p","variants":[],"cacheKey":{"dropQuery":[1]}}"#.utf8)
        } throws: {
            ($0 as? VariantError)?.path == "$.cacheKey.dropQuery[0]"
        }
    }
}
