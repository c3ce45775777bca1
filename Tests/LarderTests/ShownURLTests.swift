import Foundation
import TestSupport
import Testing

@testable import Commands
@testable import Reports

/// Output shows no passwords of URLs and, where no program passes them back, no signatures. JSON has exact keys.
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
            #expect(report.code == 0, "\(format)")
            #expect(!report.text.contains("s3cret"), "\(format)")
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
        #expect(!outcome.text.contains("s3cret"), "\(outcome.text)")
        #expect(!outcome.errorText.contains("s3cret"), "\(outcome.text)")
        #expect(outcome.text.contains("a@2x.jpg") == url.contains("a@2x.jpg"))
    }

    @Test func `signatures are hidden from readers, and stay where a URL is named again`() async throws {
        let query = "?w=1&X-Amz-Signature=s3cret&sig=s3cret&Token=#sig=1"
        #expect(ShownURL.masked("http://a/b" + query) == "http://a/b?w=1&X-Amz-Signature=***&sig=***&Token=***#sig=1")
        let accent = "\u{301}"
        let combined = ["?\(accent)a=1&sig=s3cret": "?\(accent)a=1&sig=***", "?sig=\(accent)s3cret": "?sig=***"]
        for (given, shown) in combined { #expect(ShownURL.masked("http://a/b" + given) == "http://a/b" + shown) }
        for url in ["http://a/b", "http://a/?", "http://a/?sig", "http://a/sig=1?x=sig"] {
            #expect(ShownURL.masked(url) == url)
        }
        let scene = try await Scene()
        let url = scene.origin.url("/missing.jpg") + query
        let answers = try await scene.larder("enqueue", "--json", "--batch", "spring", url)
        #expect(try fields(answers.lines[0])["url"] as? String == url)
        let worked = try await scene.larder("work", "--drain")
        #expect(worked.code == 1)
        #expect(!worked.errorText.contains("s3cret"))
        for format in ["text", "json", "html", "csv"] {
            let report = try await scene.larder("report", "spring", "--format", format)
            #expect(report.text.contains("missing.jpg"), "\(format)")
            #expect(!report.text.contains("s3cret"), "\(format)")
        }
        #expect(try await scene.larder("report", "spring", "--files", "--json").text.contains(url))
    }

    @Test func `cache keys hide passwords and signatures, and are exact in JSON`() async throws {
        let scene = try await Scene()
        scene.origin.on("/good.jpg?X-Amz-Signature=s3cret", .body(try TestImage.bytes("plain.jpg")))
        let url = "http://user:s3cret@127.0.0.1:\(scene.origin.port)/good.jpg?X-Amz-Signature=s3cret"
        let shown = scene.origin.url("/good.jpg?X-Amz-Signature=***")
        let run = try await scene.larder(["run", "--json", "--batch", "spring", url, "--variant", Variants.small]).run()
        #expect(try RunLines(run).jobs.first?.original?.key == url)
        let json = try await scene.larder("report", "spring", "--files", "--json").lines.map { try JobLine($0) }
        #expect(json.first?.original?.key == url)
        let files = try await scene.larder("report", "spring", "--files").lines.map { $0.split(separator: "\t") }
        try #require(files.count == 2, "\(files)")
        #expect(files.allSatisfy { $0[0] == shown }, "\(files)")
        #expect(files[0][3] == shown, "\(files)")
        for words in [["--files"], ["--format", "csv"], ["--format", "html"]] {
            let report = try await scene.larder(["report", "spring"] + words).run()
            #expect(report.code == 0, "\(words)")
            #expect(report.text.contains("=***"), "\(words)")
            #expect(!report.text.contains("s3cret"), "\(words)")
        }
        let mail = try await scene.larder("report", "spring", "--mail", "ops@example.com").text
        let parts = mail.components(separatedBy: "Content-Transfer-Encoding: base64\n\n").dropFirst()
        #expect(parts.count == 3)
        for part in parts {
            let base64 = part.components(separatedBy: "\n--")[0]
            let data = try #require(Data(base64Encoded: base64, options: .ignoreUnknownCharacters))
            #expect(!String(decoding: data, as: UTF8.self).contains("s3cret"))
        }
    }

    @Test func `answers about URLs hide signatures in text, and have the URL in JSON`() async throws {
        let scene = try await Scene()
        let url = "http://a.example/1.jpg?X-Amz-Signature=s3cret"
        let shown = "http://a.example/1.jpg?X-Amz-Signature=***"
        let dry = try await scene.larder("enqueue", "--dry-run", url)
        #expect(dry.lines.first == "inserted\t\(shown)")
        let long = "http://user:s3cret@a.example/" + String(repeating: "x", count: 300)
        let cut = try await scene.larder("enqueue", "--dry-run", long)
        #expect(cut.lines.first?.hasPrefix("inserted\thttp://a.example/xxx") == true, "\(cut.text)")
        #expect(cut.lines.first?.hasSuffix("x…") == true, "\(cut.text)")
        #expect((cut.lines.first?.count ?? 999) < 220, "\(cut.text)")
        #expect(try await scene.larder("blocklist", "add", url).text == "blocked: \(shown)\n")
        #expect(try fields(try await scene.larder("blocklist", "list", "--json").text)["url"] as? String == url)
        #expect(try await scene.larder("blocklist", "remove", url).text == "removed: \(shown)\n")
        let absent = try await scene.larder("blocklist", "remove", url)
        #expect(absent.code == 1)
        #expect(absent.errorText == "larder: \(shown) is not blocked\n")
        let wrong = try await scene.larder("blocklist", "add", "ftp" + url)
        #expect(wrong.code == 2, "\(wrong.errorText)")
        #expect(!wrong.errorText.contains("s3cret"), "\(wrong.errorText)")
    }

    private func shown(_ scene: Scene) -> [String] {
        [scene.origin.url("/good.jpg"), scene.origin.url("/missing.jpg")]
    }
}
