import Foundation
import TestSupport
import Testing

@testable import Lists

/// Sitemaps, RSS, Atom and JSON feeds as lists.
@Suite(.timeLimit(.minutes(5)))
struct FeedListTests {
    private static let sitemap = """
        <?xml version="1.0" encoding="UTF-8"?>
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
            xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
          <url><loc>http://a.example/page</loc>
            <image:image><image:loc> http://a.example/1.jpg?a=1&amp;b=2 </image:loc></image:image>
            <image:image><image:loc>http://a.example/2.jpg</image:loc></image:image></url>
          <url><loc>http://a.example/3.PNG?x</loc></url>
          <url><loc>http://a.example/page2</loc></url>
        </urlset>
        """
    private static let rss = """
        <?xml version="1.0"?><rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel>
          <item><enclosure url="http://a.example/1.jpg" type="image/jpeg" length="1"/>
            <enclosure url="http://a.example/1.mp3" type="audio/mpeg" length="1"/></item>
          <item><media:group><media:content url="http://a.example/2" medium="image"/>
            <media:content url="http://a.example/2.mp4"/></media:group></item>
          <item><media:content url="http://a.example/3.webp"/></item></channel></rss>
        """
    private static let atom = """
        <feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="http://a.example/page"/>
          <link rel="enclosure" type="image/png" href="http://a.example/1"/>
          <link rel="enclosure" type="video/mp4" href="http://a.example/2.jpg"/>
          <content type="html">x</content></entry></feed>
        """
    private static let json = #"""
        {"version": "https://jsonfeed.org/version/1.1", "title": "x", "items": [
          {"id": "1", "image": "http://a.example/1.jpg", "banner_image": "http://a.example/2.jpg"},
          {"id": "2", "attachments": [{"url": "http://a.example/3", "mime_type": "image/gif"},
            {"url": "http://a.example/4.mp3", "mime_type": "audio/mpeg"}]}]}
        """#

    private func images(_ document: String, by pieces: Int = .max, as format: ListFormat? = nil) throws -> [String] {
        let parser = FeedParser(format)
        var found: [Result<ListItem, BadLine>] = []
        var rest = Array(document.utf8)[...]
        while !rest.isEmpty {
            found += try parser.parse(Array(rest.prefix(pieces)), isLast: false)
            rest = rest.dropFirst(pieces)
        }
        return try (found + (try parser.parse([], isLast: true))).map { try $0.get().url }
    }

    private func refusal(_ document: String, as format: ListFormat? = nil) -> String? {
        do { _ = try images(document, as: format) } catch { return (error as? BadLine)?.message }
        return nil
    }

    @Test(arguments: [1, 7, Int.max]) func `images are found, in whatever pieces a document comes`(pieces: Int) throws {
        #expect(
            try images(Self.sitemap, by: pieces) == [
                "http://a.example/1.jpg?a=1&b=2", "http://a.example/2.jpg", "http://a.example/3.PNG?x",
            ])
        #expect(
            try images(Self.rss, by: pieces) == [
                "http://a.example/1.jpg", "http://a.example/2", "http://a.example/3.webp",
            ])
        #expect(try images(Self.atom, by: pieces) == ["http://a.example/1"])
    }

    @Test func `entities, other documents and malformed ones are refused`() {
        let bomb = "<!DOCTYPE rss [<!ENTITY a \"aaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]><rss>&b;</rss>"
        #expect(refusal(bomb)?.contains("declares entities") == true)
        let file = "<!DOCTYPE rss [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><rss><item>&x;</item></rss>"
        #expect(refusal(file)?.contains("declares entities") == true)
        #expect(refusal(String(repeating: "<rss>", count: 300))?.contains("nested deeper") == true)
        #expect(refusal("<sitemapindex/>")?.contains("index of sitemaps") == true)
        #expect(refusal("<?xml version='1.0'?><html><p/></html>")?.contains("HTML") == true)
        #expect(refusal("<svg></svg>")?.contains("root 'svg'") == true)
        #expect(refusal("<rss></rss>", as: .atom)?.contains("not atom") == true)
        #expect(refusal("<rss><a></b></rss>")?.contains("malformed XML") == true)
        #expect(refusal("<rss><item>")?.contains("malformed XML") == true)
    }

    @Test func `a URL with an undeclared entity and a wrong item of a JSON Feed are bad lines`() async throws {
        let scene = try await Scene()
        let type = "<!DOCTYPE rss SYSTEM \"none.dtd\">\n"
        let cases = [
            (
                Self.sitemap.replacing("http://a.example/2.jpg", with: "http://a.example/2&nbsp;.jpg")
                    .replacing("?>\n<urlset", with: "?>\n\(type)<urlset"), 2, "undeclared entity 'nbsp'"
            ),
            (
                Self.rss.replacing("/3.webp", with: "/3&nbsp;.webp").replacing("?><rss", with: "?>\(type)<rss"), 2,
                "undeclared entity 'nbsp'"
            ),
            (Self.json.replacing("\"http://a.example/2.jpg\"", with: "7"), 1, "item 1 of the JSON Feed"),
        ]
        for (index, (text, count, message)) in cases.enumerated() {
            let file = try scene.directory.write(text.utf8, to: "list\(index)")
            let listed = try await scene.larder("enqueue", "--json", "--dry-run", "--from", file)
            #expect(listed.code == 1)
            #expect(listed.text.contains(message), "\(listed.text)\(listed.errorText)")
            #expect(listed.lines.count { $0.contains("http://a.example/") } == count, "\(listed.text)")
        }
    }

    @Test func `lists are recognised by their beginning, compressed too`() async throws {
        let scene = try await Scene()
        let cases = [
            (Self.sitemap, "sitemap", 3), (Self.rss, "rss", 3), ("\u{FEFF} \n" + Self.atom, "atom", 1),
            (Self.json, "jsonfeed", 3),
        ]
        for (text, name, count) in cases {
            let file = try scene.directory.write(text.utf8, to: name)
            let listed = try await scene.larder("enqueue", "--json", "--dry-run", "--from", file)
            #expect(listed.code == 0, "\(name): \(listed.text)\(listed.errorText)")
            #expect(listed.lines.count { $0.contains("http://a.example/") } == count, "\(name): \(listed.text)")
        }
        let named = try scene.directory.write(Self.json.utf8, to: "feed.jsonl")
        let chosen = try await scene.larder("enqueue", "--dry-run", "--format", "jsonfeed", "--from", named)
        #expect(chosen.code == 0, "\(chosen.errorText)")
        #expect(try await scene.shell("gzip -q \(scene.directory.file("rss"))").code == 0)
        let packed = try await scene.larder("enqueue", "--dry-run", "--from", scene.directory.file("rss.gz"))
        #expect(packed.text.contains("dry run: 3 URLs"), "\(packed.text)\(packed.errorText)")
    }

    @Test func `HTML, a damaged feed and one above 64 MiB are errors before a batch exists`() async throws {
        let scene = try await Scene()
        let bomb = "(printf '<urlset>'; head -c 68000000 /dev/zero | tr '\\0' ' ') | gzip"
        #expect(try await scene.shell("\(bomb) > \(scene.directory.file("large.gz"))").code == 0)
        let cases = [
            ("page", "<!doctype html><p>Not found", "is HTML"), ("cut", "<rss><item>", "malformed XML"),
            ("json", #"{"version": "https://jsonfeed.org/version/1", "items": 1}"#, "is no JSON Feed"),
        ]
        for (name, text, _) in cases { _ = try scene.directory.write(text.utf8, to: name) }
        for (name, message) in cases.map({ ($0.0, $0.2) }) + [("large.gz", "larger than 64 MiB")] {
            let outcome = try await scene.larder("run", "--from", scene.directory.file(name))
            #expect(outcome.code == 1, "\(name)")
            #expect(outcome.errorText.contains(message), "\(outcome.errorText)")
        }
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.batch") == "0")
    }
}
