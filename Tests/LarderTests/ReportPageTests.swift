import Foundation
import TestSupport
import Testing

@testable import Commands

/// `larder report --format html`: one file that needs no other file.
@Suite(.timeLimit(.minutes(5)))
struct ReportPageTests {
    @Test func `the page is standalone, well-formed and escaped`() async throws {
        let scene = try await Scene()
        let evil = scene.origin.url("/<script>alert('1')</script>&\".jpg")
        let good = try scene.serve("plain.jpg", at: "/good.jpg?a=1&b='2'")
        _ = try await scene.larder("run", "--batch", "</title><b>&\"", "--variant", Variants.small, evil, good)
        let outcome = try await scene.larder("report", "</title><b>&\"", "--format", "html")
        #expect(outcome.code == 0)
        let page = outcome.text
        #expect(page.hasPrefix("<!doctype html>"))
        #expect(page.hasSuffix("</html>\n"))
        #expect(page.contains("<title>Batch &lt;/title&gt;&lt;b&gt;&amp;&quot; (1)</title>"))
        #expect(!page.contains("<script>alert"), "text from outside is markup")
        #expect(page.matches(of: /<script/).count == 5, "its counts, script, images, statistics and pictures")
        #expect(!page.contains("src=\"http"), "nothing is loaded from elsewhere")
        #expect(!page.contains("href=\"http"), "nothing is loaded from elsewhere")
        #expect(page.contains("<noscript><p>This report needs JavaScript; <code>larder report "))
        let data = try PageData(page)
        #expect(data.report["title"] as? String == "Batch </title><b>&\" (1)")
        #expect((data.report["counts"] as? [String: Any])?["failed"] as? Int == 1)
        #expect((data.statistics["causes"] as? [[String: Any]])?.first?["status"] as? Int == 404)
        #expect(data.items.contains { $0[0] as? String == evil })
        #expect(try await Self.faults(page, in: scene) == "")
        // SQL has the placeholders of every file.
        let files = try await scene.sql(
            """
            SELECT string_agg(concat_ws('|', variant, path IS NOT NULL, length(blur_hash), dominant_color LIKE '#ff%',
                length(thumb_hash) > 20, length(perceptual_hash)), ' ' ORDER BY variant NULLS FIRST)
            FROM larder.stored_file
            """)
        #expect(files == "t|28|t|t|16 small|t|28|t|t|16")
    }

    /// What python's parser finds: an element that is not closed, an inline handler or style, a hash that does not fit.
    private static func faults(_ page: String, in scene: Scene) async throws -> String {
        try scene.directory.write(page.utf8, to: "page.html")
        return try await SystemTool.run(["python3", "-c", checker, scene.directory.file("page.html")])
    }

    private static let checker = """
        import base64, hashlib, html.parser, re, sys
        class Page(html.parser.HTMLParser):
            open, hashes, policy, element = [], {}, "", None
            def handle_starttag(self, name, attributes):
                for key, value in attributes:
                    if key == "style" or key.startswith("on"): print("inline", name, key)
                    if key == "content" and "script-src" in value: self.policy = value
                if name not in ("meta", "img", "input", "rect", "br"): self.open.append(name)
                self.element = name + "-data" if ("type", "application/json") in attributes else name
            def handle_startendtag(self, name, attributes): pass
            def handle_endtag(self, name):
                if not self.open or self.open.pop() != name: print("closed wrongly", name)
                self.element = None
            def handle_data(self, data):
                if self.element in ("style", "script"):
                    self.hashes[self.element] = self.hashes.get(self.element, "") + data
        page = Page()
        page.feed(open(sys.argv[1], encoding="utf-8", newline="").read())
        if page.open: print("open", page.open)
        for name, text in page.hashes.items():
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            if f"{name}-src 'sha256-{digest}'" not in page.policy: print("the hash does not fit", name)
        """

    @Test func `small pictures of originals and variants are inside`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        _ = try await scene.larder(
            "run", "--batch", "b", "--variant", Variants.small, "--variant", Variants.outside, url)
        let page = try await scene.larder("report", "b", "--format", "html", "-v").text
        let data = try PageData(page)
        #expect(data.names == ["small", "outside"])
        #expect(data.pictures.count == 2)
        #expect(data.errors.contains { $0.contains("LarderErrorDomain 401") }, "of the variant")
        let item = try #require(data.items.first)
        #expect(item[0] as? String == url)
        #expect(item[1] as? Int == 1)
        #expect((item[4] as? String)?.isEmpty == false, "a ThumbHash")
        #expect((item[5] as? String)?.firstMatch(of: /^#[0-9a-f]{6}$/) != nil, "the dominant colour")
        for picture in data.pictures {
            let image = try #require((picture[2] as? String).flatMap { Data(base64Encoded: $0) })
            #expect(image.prefix(4) == Data("RIFF".utf8))
            #expect(image.count <= 6_144)
        }
        let none = try await scene.larder("report", "b", "--format", "html", "--thumbnails", "0").text
        #expect(try PageData(none).pictures.isEmpty)
    }

    @Test func `a page is written to a file, and of an empty batch too`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "--batch", "b", "nonsense")
        let file = scene.directory.file("b.html")
        let outcome = try await scene.larder("report", "b", "--format", "html", "-o", file)
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.text.isEmpty, "\(outcome.errorText)")
        let page = try String(contentsOfFile: file, encoding: .utf8)
        #expect(page.contains("The URL is empty or malformed"))
        _ = try await scene.sql("SELECT larder.batch_open('none')")
        let empty = try await scene.larder("report", "none", "--format", "html").text
        #expect(try PageData(empty).items.isEmpty)
        #expect(empty.hasSuffix("</html>\n"))
        #expect(try await Self.faults(empty, in: scene) == "")
    }

    @Test func `a report compares a run with the one before`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        for urls in [[url], [url, "nonsense"]] {
            _ = try await scene.larder(["run", "--batch", "nightly"] + urls).run()
        }
        let second = try await scene.larder("report", "nightly", "--format", "html").text
        #expect((try PageData(second).statistics["previous"] as? [String: Any])?["batch"] as? String == "nightly")
        let first = try PageData(try await scene.larder("report", "nightly@1", "--format", "html").text)
        #expect(first.statistics["previous"] is NSNull)
        let both = try PageData(try await scene.larder("report", "--since", "1h", "--format", "html").text)
        #expect(both.report["title"] as? String == "Batches of the last 1h")
        #expect((both.report["batches"] as? [Any])?.count == 2)
        #expect(both.items.count == 3)
        let lines = try await scene.larder("report", "--since", "1h", "--json").lines.map(fields)
        #expect(lines.map { $0["batchID"] as? Int } == [1, 2, nil])
        #expect(lines.last?["batches"] as? [Int] == [1, 2])
        #expect(lines.last?["total"] as? Int == 3)
        #expect(lines.last?["statistics"] is [String: Any])
        let refused = try await scene.larder("report", "nightly", "--since", "1h")
        #expect(refused.code == 2)
        #expect(refused.errorText.contains("exclude each other"))
    }
}
