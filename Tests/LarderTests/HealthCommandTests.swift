import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing
import Worker

@testable import Monitoring

/// `larder status --health` and `--metrics`, log levels, and systemd's notifications.
@Suite(.timeLimit(.minutes(5)))
struct HealthCommandTests {
    @Test func `a queue without a worker is a warning, and its end is health`() async throws {
        let scene = try await Scene()
        // Findings about the test server as a whole do not count.
        func findings(_ words: String...) async throws -> (code: Int32?, own: Bool) {
            let outcome = try await scene.larder(["status", "--health", "--json"] + words).run()
            let what = try outcome.lines.map { try fields($0)["what"] as? String }
            return (outcome.code, what.contains("jobs are ready and no worker is live"))
        }
        _ = try await scene.larder("enqueue", try scene.serve("plain.jpg", at: "/a.jpg"))
        let waiting = try await findings()
        #expect(waiting.own)
        #expect(waiting.code == 0)
        #expect(try await scene.larder("status", "--health").code == 0, "the same rule")
        let strict = try await findings("--warnings")
        #expect(strict.own)
        #expect(strict.code == 1)
        #expect(try await scene.larder("work", "--drain").code == 0)
        #expect(try await !findings().own)
    }

    @Test func `a worker of a queue that does not exist leaves no worker`() async throws {
        let scene = try await Scene()
        for words in [["--drain"], ["--drain", "--parallel"], []] {
            let outcome = try await scene.larder(["work", "--queue", "typo"] + words).run()
            #expect(outcome.code == 1, "\(outcome.errorText)")
            #expect(outcome.errorText.contains("unknown queue \"typo\""), "\(outcome.errorText)")
        }
        #expect(try await scene.sql("SELECT count(*) FROM larder.worker WHERE state <> 'stopped'") == "0")
    }

    @Test func `a paused batch is a note`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", try scene.serve("plain.jpg", at: "/a.jpg"), "--batch", "spring")
        #expect(try await !scene.larder("status", "--health").text.contains("a batch is paused"))
        #expect(try await scene.larder("pause", "spring").code == 0)
        let role = try #require(try await scene.sql("SELECT session_user"))
        let line = try await scene.larder("status", "--health").lines.first { $0.contains("a batch is paused") }
        #expect(line?.contains("info: a batch is paused: spring, since ") == true)
        #expect(line?.contains(" by \(role)") == true, "\(line ?? "")")
        let status = try await scene.larder("status", "spring").text
        #expect(status.contains("): paused since 20"), "\(status)")
        #expect(status.contains("Z by \(role), 0% 0/1"), "\(status)")
        #expect(try await scene.larder("cancel", "spring").code == 0)
        #expect(try await !scene.larder("status", "--health").text.contains("a batch is paused"))
    }

    @Test func `status names a paused queue and the command that resumes it, as health does`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "http://a.example/1", "--batch", "spring")
        #expect(try await scene.larder("pause", "--queue", "default").code == 0)
        let line = "\nqueue default is paused and has 1 open item; 'larder resume --queue default' resumes it\n"
        for words in [["status"], ["status", "spring"]] {
            let text = try await scene.larder(words).run().text
            #expect(text.contains("waiting, 0% 0/1"), "\(text)")
            #expect(text.contains(line), "\(text)")
        }
        let health = try await scene.larder("status", "--health").text
        #expect(health.contains("('larder resume --queue default' resumes it)"), "\(health)")
        _ = try await scene.larder("pause", "spring")
        #expect(try await scene.larder("status", "--health").text.contains("('larder resume spring' resumes it)"))
        _ = try await scene.larder("resume", "--queue", "default")
        #expect(try await !scene.larder("status").text.contains("is paused"))
    }

    @Test func `of many paused queues status lists twenty, and says how many there are beyond`() async throws {
        let scene = try await Scene()
        let enqueue = "enqueue('http://a.example/' || n, queue => 'q' || n)"
        for call in ["queue_set('q' || n)", enqueue, "queue_pause('q' || n)"] {
            _ = try await scene.sql("SELECT count(*) FROM generate_series(10, 34) AS n, LATERAL larder.\(call) AS x")
        }
        let lines = try await scene.larder("status").lines.filter { $0.hasPrefix("queue q") || $0.contains(" more ") }
        #expect(lines.count == 21, "\(lines)")
        #expect(lines.first?.hasPrefix("queue q10 is paused") == true, "\(lines)")
        #expect(lines.last == "5 more queues wait; 'larder status --queues' lists all", "\(lines)")
    }

    @Test func `metrics are written for a textfile collector as promtool accepts them`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", try scene.serve("plain.jpg", at: "/a.jpg"))
        let path = scene.directory.file("larder.prom")
        let outcome = try await scene.larder("status", "--metrics", "--textfile", path)
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.text.isEmpty, "\(outcome.errorText)")
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.contains("\nlarder_queue_open_items{queue=\"default\"} 1\n"), "\(text)")
        #expect(try await scene.larder("status", "--metrics").text.contains("\nlarder_workers 0\n"))
        let checked = try await RunningCommand(
            "/usr/bin/promtool", ["check", "metrics"], environment: [:], input: Array(text.utf8)
        ).outcome()
        #expect(checked.code == 0, "\(checked.text)\(checked.errorText)")
        #expect(try await scene.larder("status", "--metrics", "--json").code == 2)
    }

    @Test func `unprintable characters of labels are shown as their code`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "--batch", "a\u{2066}b\"c", "http://a.example/1")
        _ = try await scene.larder("cancel", "a\u{2066}b\"c")
        let text = try await scene.larder("status", "--metrics").text
        #expect(text.contains(#"{batch="a\\u{2066}b\"c",outcome="cancelled"} 1"#), "\(text)")
        #expect(!text.contains("\u{2066}"))
        let checked = try await RunningCommand(
            "/usr/bin/promtool", ["check", "metrics"], environment: [:], input: Array(text.utf8)
        ).outcome()
        #expect(checked.code == 0, "\(checked.text)\(checked.errorText)")
    }

    @Test func `metrics tell how the last run of each name ended`() async throws {
        let scene = try await Scene()
        let good = try scene.serve("plain.jpg", at: "/a.jpg"), bad = scene.origin.url("/none.jpg")
        for urls in [[good], [good, bad]] {
            _ = try await scene.larder(["enqueue", "--batch", "nightly"] + urls).run()
            _ = try await scene.larder("work", "--drain")
        }
        _ = try await scene.larder("enqueue", "--batch", "open", "--at", "+1h", good)
        let page = try await scene.larder("status", "--metrics").text
        for (outcome, count) in [("succeeded", 1), ("failed", 1), ("cancelled", 0)] {
            let line = "larder_batch_last_run_items{batch=\"nightly\",outcome=\"\(outcome)\"} \(count)\n"
            #expect(page.contains(line), "\(page)")
        }
        #expect(page.contains("larder_batch_last_run_duration_seconds{batch=\"nightly\"} "))
        let end = try #require(page.firstMatch(of: /last_run_end_timestamp_seconds\{batch="nightly"\} ([0-9.e+]+)/))
        let now = try #require(try await scene.sql("SELECT extract(epoch FROM now())").flatMap { Double($0) })
        #expect(try #require(Double(end.1)) <= now)
        #expect(!page.contains("batch=\"open\""))
    }

    @Test func `a job has a line in the log at debug, and at info only when it did not succeed`() async throws {
        let scene = try await Scene()
        func events(_ level: String) async throws -> [String] {
            let urls = [try scene.serve("plain.jpg", at: "/\(level).jpg"), scene.origin.url("/\(level)-none.jpg")]
            _ = try await scene.larder(["enqueue"] + urls).run()
            let outcome = try await scene.larder("work", "--drain", "--log-format", "json", "--log-level", level)
            let lines = try outcome.errorText.split(separator: "\n").map { try fields(String($0)) }
            for line in lines where line["event"] as? String == "completed" {
                #expect(line["job"] is Int)
                #expect(line["batch"] is Int)
                #expect(line["worker"] is Int)
                #expect(line["fetch_ms"] is Int)
            }
            return lines.compactMap { $0["event"] as? String }
        }
        let all = try await events("debug")
        #expect(all.count { $0 == "completed" } == 2)
        #expect(all.contains("claimed"))
        let some = try await events("info")
        #expect(some.count { $0 == "completed" } == 1)
        #expect(some.contains("started"))
        #expect(!some.contains("claimed"))
        #expect(try await events("error") == ["completed"])
    }

    @Test func `systemd is told that a worker is ready, lives, and stops`() async throws {
        let scene = try await Scene()
        let path = scene.directory.file("notify")
        let socket = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        try #require(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0)
        chmod(path, 0o777)
        @Sendable func messages() -> [String] {
            var found: [String] = []
            var bytes = [UInt8](repeating: 0, count: 1000)
            while case let count = recv(socket, &bytes, bytes.count, Int32(MSG_DONTWAIT)), count >= 0 {
                found.append(String(decoding: bytes[..<count], as: UTF8.self))
            }
            return found
        }
        var command = scene.larder(["work"])
        command.environment["NOTIFY_SOCKET"] = path
        command.environment["WATCHDOG_USEC"] = "100000"
        let worker = try command.start()
        let seen = Seen()
        #expect(
            await worker.reaches { _ in
                let all = seen.adding(messages())
                return all.first?.hasPrefix("READY=1\n") == true && all.contains("STATUS=working")
                    && all.count { $0.hasPrefix("WATCHDOG=1") } > 3
            }, "\(seen.adding([]))")
        worker.signal(SIGTERM)
        #expect(await worker.outcome().code == 0)
        #expect(seen.adding(messages()).contains { $0.hasPrefix("STOPPING=1\n") })
    }

    /// Messages so far.
    private final class Seen: Sendable {
        private let all = Mutex<[String]>([])

        func adding(_ messages: [String]) -> [String] {
            all.withLock {
                $0 += messages
                return $0
            }
        }
    }

    @Test func `nothing is told without a service manager`() {
        func manager(_ socket: String?) -> ServiceManager? {
            ServiceManager(ClaimClock()) { $0 == "NOTIFY_SOCKET" ? socket : nil }
        }
        #expect(manager(nil) == nil)
        #expect(manager("relative") == nil)
        #expect(manager("/" + String(repeating: "x", count: 200)) == nil)
        #expect(manager("@larder-test") != nil)
    }
}
