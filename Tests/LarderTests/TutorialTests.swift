import Foundation
import TestSupport
import Testing

/// docs/tutorial.md, followed from its first command to its last, with the embedded database.
@Suite(.timeLimit(.minutes(5)))
struct TutorialTests {
    /// A crontab in a file.
    private static let crontab = """
        #!/bin/sh
        file=${0%/bin/crontab}/crontab
        case $1 in -l) cat "$file" ;; *) cat > "$file" ;; esac
        """

    /// Lines with every number and number of spaces masked.
    private static func masked(_ text: String) -> String {
        text.replacing(/[0-9][0-9.:TZ-]*( [KM]iB| B| ms| s)?/, with: "#").trimmingCharacters(in: .newlines)
    }

    @Test func `a reader who runs every command gets the shown output, the mail and the bundle`() async throws {
        let scene = try await Scene()
        _ = try scene.serve("plain.jpg", at: "/a.jpg")
        _ = try scene.serve("rgb.png", at: "/b.png")
        let site = scene.origin.url("")
        let environment = scene.environment.filter { $0.key != "LARDER_DATABASE_URL" }
        _ = try await scene.shell("true")
        try scene.directory.write(Self.crontab.utf8, to: "bin/crontab")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: scene.directory.file("bin/crontab"))

        for block in try Document("docs/tutorial.md").blocks where block.language == .sh {
            let outcome = try await scene.shell(
                "set -e\n" + block.text.replacing("https://example.com", with: site), environment: environment)
            #expect(outcome.code == 0, "\(block.text)\(outcome.errorText)")
            if let output = block.output {
                let text = outcome.text.replacing(site, with: "https://example.com")
                    .replacing(scene.cache, with: "/home/me/.local/share/larder/cache")
                #expect(Self.masked(text) == Self.masked(output), "\(block.text)")
            }
        }
        let mail = try String(contentsOfFile: scene.directory.file("sent-mail"), encoding: .utf8)
        #expect(mail.matches(of: /(?m)^Subject: larder: Batch nightly \(\d+\):/).count == 2)
        let crontab = try String(contentsOfFile: scene.directory.file("crontab"), encoding: .utf8)
        #expect(crontab.hasSuffix("cd \(scene.directory.path) && ./nightly\n"), "\(crontab)")
        #expect(try scene.directory.names.contains("bundle"))
        let database = try await scene.shell("larder db status --json", environment: environment)
        #expect(database.text.contains(#""state":"stopped""#), "\(database.text)")
    }
}
