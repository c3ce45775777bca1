import Foundation
import TestSupport
import Testing

@testable import CommandLine

/// The program as other users and the scheduler of the machine see it.
@Suite(.timeLimit(.minutes(5)))
struct ProcessTests {
    @Test func `threads and transcoders of a niced worker are niced, also as root`() async throws {
        let scene = try await Scene()
        let worker = try RunningCommand(
            "/usr/bin/nice", ["-n", "7", LarderCommand.executable, "work", "--listen", "127.0.0.1:0"],
            environment: scene.environment)
        _ = try await ListeningWorker.port(of: worker)
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        #expect(try await scene.larder("enqueue", "--variant", Variants.small, url).code == 0)
        try await scene.until("(SELECT count(*) = 1 FROM larder.record WHERE outcome = 'succeeded')")
        let id = "\(worker.processID)"
        let threads = try await SystemTool.run(["ps", "-L", "-o", "ni=,comm=", "-p", id, "--ppid", id])
            .split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(threads.count > 4, "\(threads)")
        #expect(threads.contains { $0.last == "larder-transcod" }, "\(threads)")
        #expect(threads.filter { $0.first != "7" } == [])
        worker.signal(SIGTERM)
        #expect(await worker.outcome().code == 0)
    }

    @Test func `a password in the arguments is not among the processes that ps shows`() async throws {
        let scene = try await Scene()
        let silent = try SilentServer(.mute)
        let worker = try scene.larder([
            "work", "--database", "postgresql://user:secret@127.0.0.1:\(silent.port)/db", "--proxy",
            "http://me:hush@127.0.0.1:9", "--proxy-trusted",
        ]).start()
        #expect(await worker.reaches { _ in silent.arrivals.connections > 0 })
        let line = try String(contentsOfFile: "/proc/\(worker.processID)/cmdline", encoding: .utf8)
        #expect(line.contains("postgresql://user:******@127.0.0.1:\(silent.port)/db"), "\(line)")
        #expect(line.contains("http://me:****@127.0.0.1:9"), "\(line)")
        worker.signal(SIGKILL)
        _ = await worker.outcome()
    }

    @Test(arguments: [
        ("http://a/b", "http://a/b"), ("postgresql://u:p@h/d", "postgresql://u:*@h/d"),
        ("postgresql://u@h:5432/d", "postgresql://u@h:5432/d"), ("http://a/?x=b:c@d", "http://a/?x=b:c@d"),
        ("--proxy=http://u:a@b:c@h", "--proxy=http://u:*****@h"),
        ("host=h password=ab user=u", "host=h password=** user=u"),
        ("password='a b' user=u", "password=****' user=u"),
        ("postgresql://h/d?password=ab&x=1", "postgresql://h/d?password=**&x=1"),
    ])
    func `passwords are found in URLs and connection strings`(word: String, shown: String) {
        var bytes = Array(word.utf8)
        for range in HiddenPasswords.ranges(in: bytes) { for index in range { bytes[index] = UInt8(ascii: "*") } }
        #expect(String(decoding: bytes, as: UTF8.self) == shown)
    }
}
