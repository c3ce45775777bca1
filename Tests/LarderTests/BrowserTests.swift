import Foundation
import TestSupport
import Testing

/// What the tests of pages need.
private enum BrowserModules {
    static let path = PackageRoot.path + "/.build/browser"
    static let areInstalled =
        FileManager.default.fileExists(atPath: path + "/complete")
        && FileManager.default.fileExists(atPath: "/usr/bin/chromium")
}

/// The pages in Chromium, by Playwright: buttons, the keyboard, the rules of axe-core, light and dark, as wide as a
/// phone and as a desk. `scripts/browser` installs what they need.
@Suite(
    .enabled(if: BrowserModules.areInstalled, "needs chromium, and what scripts/browser installs"),
    .timeLimit(.minutes(15)))
struct BrowserTests {
    /// What the script finds wrong.
    private func faults(_ script: String, _ arguments: [String]) async throws -> String {
        let outcome = try await RunningCommand(
            "/usr/bin/python3", [PackageRoot.path + "/Tests/Browser/" + script] + arguments,
            environment: ["PYTHONPATH": BrowserModules.path, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"]
        ).outcome()
        return outcome.code == 0 ? outcome.text : outcome.text + outcome.errorText
    }

    @Test func `the dashboard shows, changes and follows, by mouse and by keyboard`() async throws {
        let scene = try await Scene()
        let name = "<b onclick=alert(1)>'&\"\u{202E}"
        _ = try await scene.larder("enqueue", scene.origin.url("/<i>x</i>.jpg"), "nonsense", "--batch", name)
        try scene.directory.write("http://a.example/1\n".utf8, to: "list")
        _ = try await scene.larder(
            "schedule", "set", "nightly", "--cron", "0 2 * * *", "--from", scene.directory.file("list"))
        _ = try await scene.larder(
            "blocklist", "add", "http://a.example/<i>.jpg", "--reason", "<script>alert(1)</script>")
        let token = "0123456789abcdefXYZ"
        try scene.directory.write(token.utf8, to: "token")
        let options = ["--allow-changes", "--token-file", scene.directory.file("token")]
        let process = try scene.larder(["serve", "--listen", "127.0.0.1:0", "--json"] + options).start()
        @Sendable func port() -> Int? {
            String(decoding: process.outputSoFar, as: UTF8.self).firstMatch(of: /"port":(\d+)/).flatMap { Int($0.1) }
        }
        #expect(await process.reaches { _ in port() != nil })
        let found = try await faults(
            "dashboard.py",
            ["http://127.0.0.1:\(try #require(port()))/", token, name, try scene.serve("plain.jpg", at: "/a.jpg")])
        #expect(found.isEmpty, "\(found)")
        #expect(
            try await scene.sql("SELECT string_agg(verb || ' ' || target, ', ' ORDER BY action) FROM larder.action")
                == "batches/pause 1, batches/resume 1, blocklist/add http://a.example/spam.jpg")
        process.signal(SIGTERM)
        #expect(await process.outcome().code == 0)
    }

    @Test func `a report works from disk with the network cut`() async throws {
        let scene = try await Scene()
        let urls = [
            try scene.serve("plain.jpg", at: "/a.jpg"), try scene.serve("plain.jpg", at: "/b.jpg"),
            scene.origin.url("/<script>alert(1)</script>.jpg"),
        ]
        _ = try await scene.larder(["run", "--batch", "<b>", "--variant", Variants.small] + urls).run()
        let file = scene.directory.file("report.html")
        #expect(try await scene.larder("report", "<b>", "--format", "html", "-o", file).code == 0)
        let found = try await faults("report.py", [file, "3"])
        #expect(found.isEmpty, "\(found)")
    }
}
