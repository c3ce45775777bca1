import Foundation
import TestSupport
import Testing

/// What the tests of pages need.
private enum BrowserModules {
    static let path = PackageRoot.path + "/.build/browser"
    static let areInstalled =
        FileManager.default.fileExists(atPath: path + "/complete")
        && FileManager.default.fileExists(atPath: "/usr/bin/chromium")
    /// Nothing is skipped where the checks of the project run.
    static let areWanted = areInstalled || ProcessInfo.processInfo.environment["CI"] == "true"
}

/// A report in Chromium, by Playwright: the gallery, the rules of axe-core, light and dark, as wide as a phone and as a
/// desk. `scripts/browser` installs what it needs.
@Suite(
    .enabled(if: BrowserModules.areWanted, "needs chromium, and what scripts/browser installs"),
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

    @Test func `a report works from disk with the network cut, and served`() async throws {
        let scene = try await Scene()
        scene.origin.on("/z.gif", .body(MadeGIF.bytes(120, 90, frames: 3)))
        let urls = [
            try scene.serve("plain.jpg", at: "/a.jpg"), try scene.serve("plain.jpg", at: "/b.jpg"),
            scene.origin.url("/<script>alert(1)</script>.jpg"), scene.origin.url("/z.gif"),
        ]
        _ = try await scene.larder(["run", "--batch", "<b>", "--variant", Variants.small] + urls).run()
        let file = scene.directory.file("report.html")
        #expect(try await scene.larder("report", "<b>", "--format", "html", "-o", file).code == 0)
        try await serving(scene) { address in
            let found = try await faults("report.py", [file, "4", address + "report/1"])
            #expect(found.isEmpty, "\(found)")
        }
    }

    /// Runs `body` with the address of `larder serve`.
    private func serving(_ scene: Scene, _ body: (String) async throws -> Void) async throws {
        let process = try scene.larder(["serve", "--listen", "127.0.0.1:0", "--json"]).start()
        @Sendable func port() -> Int? {
            String(decoding: process.outputSoFar, as: UTF8.self).firstMatch(of: /"port":(\d+)/).flatMap { Int($0.1) }
        }
        #expect(await process.reaches { _ in port() != nil })
        try await body("http://127.0.0.1:\(try #require(port()))/")
        process.signal(SIGTERM)
        #expect(await process.outcome().code == 0)
    }
}
