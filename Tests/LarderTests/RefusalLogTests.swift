import Foundation
import TestSupport
import Testing

/// The log of requests that lead to forbidden addresses.
@Suite(.timeLimit(.minutes(5)))
struct RefusalLogTests {
    /// Spellings of forbidden addresses.
    private static let hosts = [
        "10.0.0.1", "10.1", "167772161", "0xa000001", "0xa.1", "012.0.0.1", "01200000001", "10.0.0.1.", "167772161.",
        "0.0.0.0", "0", "[::1]", "[::]", "[::ffff:10.0.0.1]", "[::ffff:a00:1]", "[::10.0.0.1]", "[64:ff9b::a00:1]",
        "[2002:a00:1::1]", "[2001:0:53aa:64c:0:fbff:f5ff:fffe]", "[fe80::1]", "[fec0::1]", "[fd00::1]", "[ff02::1]",
        "[2a00:1450::5efe:10.0.0.1]", "%31%30.0.0.1", "10%2e0%2e0%2e1", "100.64.0.1", "169.254.169.254", "172.16.0.1",
        "192.168.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "192.0.0.1", "203.0.113.1", "240.0.0.1",
        "user:pass@10.0.0.1", "example.com@10.0.0.1", "example.com:80@10.0.0.1", "172.31.255.255", "192.168.255.1",
    ]

    @Test func `each refused address has one log line with its reason`() async throws {
        let scene = try await Scene()
        // Different paths, because the log shows no userinfo.
        let direct = Self.hosts.enumerated().map { "http://\($1)/direct\($0)" }
        let led = Self.hosts.enumerated().map { number, host in
            scene.origin.on("/led\(number)", .redirect(to: "http://\(host)/there"))
            return scene.origin.url("/led\(number)")
        }
        #expect(direct.count + led.count >= 80)
        let outcome = try await scene.larder(
            ["run", "--json", "--verbose", "--log-format", "json", "--from", "-"],
            input: (direct + led).joined(separator: "\n").utf8
        ).run()
        #expect(outcome.code == 1)
        let events = outcome.errorText.split(separator: "\n").compactMap { try? fields(String($0)) }
        let refusals = events.filter { $0["message"] != nil }
        #expect(refusals.count == direct.count + led.count)
        for path in direct.indices.map({ "/direct\($0)" }) + led.indices.map({ "/led\($0)" }) {
            let own = events.filter { ($0["url"] as? String)?.hasSuffix(path) == true }
            #expect(own.count == 1, "\(path)")
            #expect(own.first?["event"] as? String == "completed")
            #expect(own.first?["decision"] as? String == "failed")
            #expect(own.first?["error"] as? String == "LarderErrorDomain 101", "\(path): \(own)")
        }
        // Only the redirecting URLs were requested, once each.
        #expect(scene.origin.requests.count == led.count)
    }
}
