import Foundation
import ImageModel
import JobQueue
import TestSupport
import Testing

/// The section "A batch is stuck" of docs/operations.md.
@Suite(.timeLimit(.minutes(5)))
struct StuckBatchTests {
    private let scene: Scene
    private let sections: [Substring]

    init() async throws {
        scene = try await Scene()
        let page = try Document("docs/operations.md").text
        sections = page.split(separator: "\n## ").filter {
            $0.hasPrefix("A batch is stuck\n") || $0.hasPrefix("Jobs are suspended\n")
        }
    }

    /// Runs the statements of a section; the last row of each answer, its cells joined by spaces.
    private func run(_ section: Int) async throws -> [String] {
        let text = try #require(sections[section].firstMatch(of: /```sql\n((?s).*?)```/)).1
        let outcome = try await scene.psql(String(text))
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.errorText.isEmpty, "\(outcome.errorText)")
        return outcome.text.split(separator: "\n").filter { $0.contains("|") }.map { line in
            line.split(separator: "|", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
                .joined(separator: " ")
        }.enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
    }

    /// Runs the calls that the table has for what was seen, and reads the views that it names.
    private func act(on seen: String, job: Int64? = nil) async throws {
        let row = try #require(sections[0].split(separator: "\n").first { $0.hasPrefix("| \(seen) |") }, "\(seen)")
        let names = row.dropFirst(seen.count + 2).matches(of: /`((?:CALL )?larder\.[^`]+)`/).map { String($0.1) }
        try #require(!names.isEmpty)
        for name in names {
            let call = job.map { name.replacing("(job)", with: "(\($0))") } ?? name
            let verb = call.hasPrefix("CALL ") ? "" : call.contains("(") ? "SELECT " : "TABLE "
            let outcome = try await scene.psql(verb + call)
            #expect(outcome.code == 0, "\(call): \(outcome.errorText)")
        }
    }

    @Test func `its statements show each state of its table, also of a sealed batch, and its actions apply`()
        async throws
    {
        _ = try await scene.queue.producer.openBatch(name: "spring")
        #expect(try await run(0) == ["open 0", "f f f  "])
        try await act(on: "`open` 0, state `open`")
        try await scene.queue.workers.maintain(force: true)
        #expect(try await run(0)[0].hasPrefix("finished 0"))

        var request = EnqueueRequest(urls: ["http://a.example/1"], batch: "spring")
        request.retryBase = .seconds(3_600)
        let job = try #require(try await scene.queue.producer.enqueue(request)[0].job)
        try await scene.queue.producer.pause(.name("spring"))
        #expect(try await run(0)[0].hasPrefix("paused 1"))
        try await act(on: "state `paused`")
        try await scene.queue.producer.seal(.name("spring"))
        #expect(try await run(0) == ["sealed 1", "t f f  "])
        try await act(on: "`has_ready`")
        #expect(try await scene.sql("SELECT priority FROM larder_data.job") == "0")

        let worker = try await scene.worker(slots: 1)
        let claimed = try #require(try await worker.claim(upTo: 1).first)
        #expect(try await run(0)[1] == "f t f  ")
        try await act(on: "`has_running` only")
        var failed = Outcome(
            claimed.held, .failed(FailureReason(domain: "SDWebImageErrorDomain", code: 2001, message: "503")))
        failed.httpStatus = 503
        _ = try await worker.complete([failed])
        #expect(try await run(0)[1].hasPrefix("f f f "))
        #expect(try await run(0)[1] != "f f f  ", "it has a next_due_ms")
        try await act(on: "`next_due_ms` only", job: job)
        #expect(try await run(0)[1] == "t f f  ")

        _ = try await scene.sql(
            """
            WITH taken AS (DELETE FROM larder_data.ready RETURNING job_id)
            INSERT INTO larder_data.suspended (job_id, reason) SELECT job_id, 'crashed' FROM taken
            """)
        #expect(try await run(0)[1] == "f f t  ")
        #expect(sections[0].contains("| `has_suspended` | [below](#jobs-are-suspended) |"))
        _ = try await run(1)
        #expect(try await run(0)[1] == "t f f  ")
        #expect(try await scene.faults().isEmpty)
    }
}
