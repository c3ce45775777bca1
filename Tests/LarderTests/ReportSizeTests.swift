import Foundation
import TestSupport
import Testing

@testable import Commands
@testable import Reports

/// The size of a page: at most 5 MB of a mail and of a file with few rows, and every image in a file.
@Suite(.timeLimit(.minutes(5)))
struct ReportSizeTests {
    /// Repeats the records of the one job of batch 1, with its files, under further numbers.
    private static func repeatRecords(_ count: Int, in scene: Scene, _ columns: String = "", _ values: String = "")
        async throws
    {
        let names = """
            finished_at, created_at, batch_id, worker_id, claim_no, options, bytes_in, bytes_out, pipeline_id, origin_id,
            items, wait_ms, fetch_ms, transcode_ms, store_ms, priority, attempt, rescues, downloads, variants, stored
            """
        _ = try await scene.sql(
            """
            INSERT INTO larder_data.job_history (job_id, url, outcome\(columns), \(names))
            SELECT 100000 + n, h.url || '?' || n, \(values.isEmpty ? "h.outcome" : values), \(names)
            FROM larder_data.job_history h, generate_series(1, \(count)) AS n RETURNING 1
            """)
    }

    @Test func `700 animated images with variants fit, the first of them moving and in pairs`() async throws {
        let scene = try await Scene()
        scene.origin.on("/a.gif", .body(MadeGIF.bytes(120, 120, frames: 4)))
        _ = try await scene.larder(
            "run", "--batch", "b", "--variant", #"{"name":"v","thumbnail":{"width":110,"height":110}}"#,
            scene.origin.url("/a.gif"))
        try await Self.repeatRecords(699, in: scene)
        let page = try await scene.larder("report", "b", "--format", "html").text
        #expect(page.utf8.count <= ReportPage.maxBytes)
        #expect(page.utf8.count > ReportPage.maxBytes * 9 / 10)
        let data = try PageData(page)
        let pictures = data.pictures
        #expect(data.items.count == 700)
        let sizes = pictures.compactMap { ($0[2] as? String)?.utf8.count }
        #expect(sizes.count > 100)
        #expect(sizes.reduce(0, +) < ReportPage.maxBytes)
        let first = pictures.filter { $0[0] as? Int == 0 }
        #expect(Set(first.compactMap { $0[1] as? Int }) == [0, 1], "original and variant")
        for picture in first {
            let image = try #require((picture[2] as? String).flatMap { Data(base64Encoded: $0) })
            #expect(image.prefix(100).contains(Data("ANIM".utf8)), "it moves")
        }
        let few = try await scene.larder("report", "b", "--format", "html", "--thumbnails", "10").text
        #expect(try PageData(few).pictures.count == 10)
    }

    @Test func `100,000 failures with hostile URLs are in a file, and leave room in a mail for successes`() async throws
    {
        let scene = try await Scene()
        _ = try await scene.larder("run", "--batch", "b", try scene.serve("plain.jpg", at: "/a.jpg"))
        // Failures first: they may take half of the room.
        try await Self.repeatRecords(
            100_000, in: scene, ", code, domain, message",
            "'failed', 2001, 'SDWebImageErrorDomain', repeat('<', 40) || n")
        _ = try await scene.sql(
            "UPDATE larder_data.job_history SET url = url || repeat('<', 30), stored = NULL WHERE outcome = 'failed' RETURNING 1"
        )
        _ = try await scene.sql(
            "UPDATE larder_data.job_history SET job_id = 1000000 WHERE outcome = 'succeeded' RETURNING 1")
        let items = try PageData(try await scene.larder("report", "b", "--format", "html").text).items
        #expect(items.count == 100_001)
        #expect(items.last?[1] as? Int == 0)
        let mail = try await scene.larder("report", "b", "--mail", "ops@example.com").text
        let attached = try #require(mail.components(separatedBy: "filename=\"report.html\"").last)
        let body = attached.components(separatedBy: "\n\n").dropFirst().first ?? ""
        let base64 = body.components(separatedBy: "\n--").first ?? ""
        let page = try #require(Data(base64Encoded: base64, options: .ignoreUnknownCharacters))
        #expect(page.count <= ReportPage.maxBytes)
        let mailed = try PageData(String(decoding: page, as: UTF8.self)).items
        try #require(mailed.count > 1_000)
        #expect(mailed.last?[1] as? Int == 0)
    }
}
