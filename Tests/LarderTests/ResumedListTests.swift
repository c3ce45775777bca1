import Foundation
import Glibc
import TestSupport
import Testing

/// Lists that are enqueued in two runs.
@Suite(.timeLimit(.minutes(5)))
struct ResumedListTests {
    private static let othersConnected = """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
        """

    private let urls = (0..<25_000).map { "https://images.example/\($0 / 2).jpg" }
    private var lines: Data { Data(urls.joined(separator: "\n\n").utf8) }

    @Test func `a list that is given twice is enqueued twice`() async throws {
        let scene = try await Scene()
        let list = try scene.directory.write("http://a.example/1\nhttp://a.example/2\n".utf8, to: "list")
        let outcome = try await scene.larder("enqueue", "--json", "--batch", "twice", "--from", list, "--from", list)
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.errorText.isEmpty, "\(outcome.errorText)")
        #expect(try await scene.sql("SELECT total || ' ' || joined FROM larder.progress") == "4 2")
    }

    @Test func `an interrupted enqueue continues without counting a URL twice`()
        async throws
    {
        let scene = try await Scene()
        let list = scene.directory.file("list")
        try #require(mkfifo(list, 0o600) == 0)
        // Open for writing, so that the list does not end; the thread ends when the reader has ended.
        let pipe = open(list, O_RDWR | O_CLOEXEC)
        try #require(pipe >= 0)
        let text = lines
        Thread.detachNewThread { try? FileHandle(fileDescriptor: pipe, closeOnDealloc: false).write(contentsOf: text) }

        let enqueue = scene.larder(["enqueue", "--json", "--batch", "nightly", "--from", list])
        let first = try enqueue.start()
        #expect(await first.reaches { !$0.outputSoFar.isEmpty })
        first.signal(SIGKILL)
        #expect(await first.outcome().signal == SIGKILL)
        // The server may still execute its last statement.
        try await scene.until("(\(Self.othersConnected)) = 0")
        let before = try #require(try await scene.sql("SELECT total FROM larder.progress").flatMap { Int($0) })
        #expect(before >= 10_000)
        #expect(before < urls.count)

        try FileManager.default.removeItem(atPath: list)
        try lines.write(to: URL(filePath: list))
        let second = try await enqueue.run()
        #expect(second.code == 0)
        #expect(second.errorText.contains("continuing after URL \(before)"))
        #expect(
            try await scene.sql("SELECT state || ' ' || total || ' ' || joined FROM larder.progress")
                == "sealed \(urls.count) \(urls.count / 2)")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.job") == "\(urls.count / 2)")
        #expect(try await scene.sql("SELECT count(*) FROM larder.check()") == "0")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.batch_source") == "0")
        close(pipe)
    }

    @Test func `a list that has changed is refused with the last URL`() async throws {
        let scene = try await Scene()
        let list = scene.directory.file("list")
        try Data("http://a.example/1\nhttp://a.example/2\n".utf8).write(to: URL(filePath: list))
        _ = try await scene.sql("SELECT larder.batch_open('nightly')")
        _ = try await scene.sql(
            """
            SELECT count(*) FROM larder.enqueue_many(
                ARRAY['http://a.example/0', 'http://a.example/1'], 'nightly', source => '\(list)')
            """)
        let outcome = try await scene.larder("enqueue", "--json", "--batch", "nightly", "--from", list)
        #expect(outcome.code == 1)
        #expect(try outcome.error.message.contains("URL 2 of that list is 'http://a.example/1'"))
        #expect(try outcome.error.message.hasSuffix("; batch nightly is open and contains the URLs enqueued before"))
        #expect(try await scene.sql("SELECT total FROM larder.progress") == "2")
    }
}
