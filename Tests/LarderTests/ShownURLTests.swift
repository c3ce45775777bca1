import TestSupport
import Testing

@testable import larder

/// Output shows no passwords of URLs; only the cache key keeps them.
@Suite(.timeLimit(.minutes(5)))
struct ShownURLTests {
    @Test func `reports and run show no userinfo`() async throws {
        let scene = try await Scene()
        scene.origin.on("/good.jpg", .body(try TestImage.bytes("plain.jpg")))
        let host = "http://user:s3cret@127.0.0.1:\(scene.origin.port)"
        let urls = ["\(host)/good.jpg", "\(host)/missing.jpg"]
        let answers = try await scene.larder(["enqueue", "--json", "--batch", "spring"] + urls).run()
        #expect(try answers.lines.map { try fields($0)["url"] as? String } == shown(scene))
        #expect(try await scene.larder("work", "--drain").code == 1)

        let files = try await scene.larder("report", "spring", "--files", "--json").lines.map { try JobLine($0).url }
        #expect(files.sorted() == shown(scene))
        for format in ["text", "json", "html"] {
            let report = try await scene.larder("report", "spring", "--format", format)
            #expect(report.code == 0 && !report.text.contains("s3cret"), "\(format)")
        }
        // The lines of joined jobs come from the database.
        let again = try RunLines(try await scene.larder(["run", "--json"] + urls).run())
        #expect(again.jobs.map(\.url).sorted() == shown(scene))
    }

    @Test(arguments: [
        "http://user:s3cret@\u{301}host/", "http:/user:s3cret@host/", "http:///user:s3cret@host/a@2x.jpg",
    ])
    func `malformed URLs show no userinfo`(url: String) async throws {
        let scene = try await Scene()
        let outcome = try await scene.larder("enqueue", "--json", url)
        #expect(!outcome.text.contains("s3cret") && !outcome.errorText.contains("s3cret"), "\(outcome.text)")
        #expect(outcome.text.contains("a@2x.jpg") == url.contains("a@2x.jpg"))
    }

    @Test func `signatures are hidden from readers, and stay where a URL is named again`() async throws {
        let query = "?w=1&X-Amz-Signature=s3cret&sig=s3cret&Token=#sig=1"
        #expect(ShownURL.masked("http://a/b" + query) == "http://a/b?w=1&X-Amz-Signature=***&sig=***&Token=***#sig=1")
        for url in ["http://a/b", "http://a/?", "http://a/?sig", "http://a/sig=1?x=sig"] {
            #expect(ShownURL.masked(url) == url)
        }
        let scene = try await Scene()
        let url = scene.origin.url("/missing.jpg") + query
        let answers = try await scene.larder("enqueue", "--json", "--batch", "spring", url)
        #expect(try fields(answers.lines[0])["url"] as? String == url)
        let worked = try await scene.larder("work", "--drain")
        #expect(worked.code == 1 && !worked.errorText.contains("s3cret"))
        for format in ["text", "json", "html", "csv", "junit"] {
            let report = try await scene.larder("report", "spring", "--format", format)
            #expect(report.text.contains("missing.jpg") && !report.text.contains("s3cret"), "\(format)")
        }
        #expect(try await scene.larder("report", "spring", "--files", "--json").text.contains(url))
    }

    private func shown(_ scene: Scene) -> [String] {
        [scene.origin.url("/good.jpg"), scene.origin.url("/missing.jpg")]
    }
}
