import Foundation
import TestSupport
import Testing

/// Reports for other programs: CSV and mail.
@Suite(.timeLimit(.minutes(5)))
struct ReportFormatTests {
    /// A batch with an image and its variant, a missing image, and a text that is not a URL.
    private static func batch(_ name: String) async throws -> Scene {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        _ = try await scene.larder(
            "run", "--batch", name, "--variant", Variants.small, url, scene.origin.url("/missing.jpg"), "a,\"b\"")
        return scene
    }

    @Test func `CSV has a line per file and failure that other programs read`() async throws {
        let scene = try await Self.batch("b")
        let file = scene.directory.file("b.csv")
        #expect(try await scene.larder("report", "b", "--format", "csv", "-o", file).code == 0)
        let script = """
            import csv, sys
            for row in csv.DictReader(open(sys.argv[1], newline="")):
                print(row["url"].split("/")[-1], row["outcome"], row["variant"], row["code"], row["path"] != "")
            """
        let rows = try await SystemTool.run(["python3", "-c", script, file]).split(separator: "\n").map(String.init)
        #expect(
            Set(rows) == [
                "a,\"b\" failed  1000 False", "a.jpg succeeded original  True", "a.jpg succeeded small  True",
                "missing.jpg failed  2001 False",
            ], "\(rows)")
        let advice = """
            import csv, sys
            for row in csv.DictReader(open(sys.argv[1], newline="")):
                if row["code"] == "2001": print(row["meaning"] + ": " + row["action"])
            """
        #expect(try await SystemTool.run(["python3", "-c", advice, file]).hasPrefix(Self.adviceOnMissing))
        let refused = try await scene.larder("report", "b", "--format", "csv", "--files")
        #expect(refused.code == 2)
        #expect(refused.errorText.contains("--files is for the formats text and json"))
    }

    @Test func `no cell of a CSV is a formula or moves the cursor of a terminal`() async throws {
        let scene = try await Scene()
        let words = ["=HYPERLINK(\"http://evil.example\")", "@SUM(1+1)", "+1+1", "-1+1", "\u{1B}]0;x\u{7}"]
        _ = try await scene.larder(["run", "--batch", "=1+1", "--"] + words).run()
        let outcome = try await scene.larder("report", "=1+1", "--format", "csv")
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(!outcome.text.unicodeScalars.contains("\u{1B}"))
        try scene.directory.write(outcome.text.utf8, to: "b.csv")
        let script = """
            import csv, sys
            rows = list(csv.DictReader(open(sys.argv[1], newline="")))
            print(len(rows), {cell[0] for row in rows for cell in row.values() if cell[:1] and cell[0] in "=@+-\\t"})
            print({row["batch"] for row in rows}, {row["url"][:5] for row in rows})
            """
        let found = try await SystemTool.run(["python3", "-c", script, scene.directory.file("b.csv")])
        #expect(found.hasPrefix("5 set()\n{\"'=1+1\"}"), "\(found)")
    }

    /// What the text report and the page say of a 404, too.
    private static let adviceOnMissing =
        "The origin answered with HTTP status 404: The image is not there: remove the URL from the list."

    @Test func `a mail has the summary as text and HTML and the page attached`() async throws {
        let scene = try await Self.batch("Frühling")
        let outcome = try await scene.larder("report", "Frühling", "--mail", "ops@example.com")
        #expect(outcome.code == 0, "\(outcome.errorText)")
        try scene.directory.write(outcome.text.utf8, to: "mail")
        let script = """
            import email, email.policy, sys
            mail = email.message_from_file(open(sys.argv[1]), policy=email.policy.default)
            print(mail["To"], "|", mail["Subject"], "|", [part.get_content_type() for part in mail.walk()])
            print(mail.get_body(("plain",)).get_content().splitlines()[0])
            print([(part.get_filename(), part.get_content().startswith("<!doctype html>")) for part in mail.iter_attachments()])
            """
        let lines = try await SystemTool.run(["python3", "-c", script, scene.directory.file("mail")])
            .split(separator: "\n")
        #expect(lines.first?.hasPrefix("ops@example.com | larder: Batch Frühling (1): 2 failed | ") == true, "\(lines)")
        #expect(lines.first?.contains("'text/plain', 'text/html', 'text/html']") == true, "\(lines)")
        #expect(lines.dropFirst().first?.hasPrefix("1 of 3 images, 2 failed, 1 variant each, ") == true, "\(lines)")
        #expect(lines.last == "[('report.html', True)]", "\(lines)")
        let both = try await scene.larder("report", "Frühling", "--mail", "a@b", "--format", "csv")
        #expect(both.code == 2)
        #expect(both.errorText.contains("no --format"))
        let forged = try await scene.larder("report", "Frühling", "--mail", "a@b\nBcc: c@d")
        #expect(forged.code == 2)
        #expect(forged.errorText.contains("is not a mail address"))
    }
}
