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

/// The pages in Chromium, by Playwright: buttons, the keyboard, the rules of axe-core, light and dark, as wide as a
/// phone and as a desk. `scripts/browser` installs what they need.
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

    @Test func `each button of the dashboard changes the database while a worker runs, by mouse and by keyboard`()
        async throws
    {
        let scene = try await Scene()
        let name = "<b onclick=alert(1)>'&\"\u{202E}"
        let image = try scene.serve("plain.jpg", at: "/a.jpg")
        // The batch stays open: its origin never ends an answer.
        let slow = (1...40).map { number -> String in
            let target = "/<i>slow</i>\(number).jpg"
            scene.origin.on(target, OriginReply([.hang]))
            return scene.origin.url(target)
        }
        _ = try await scene.larder(["enqueue", "--batch", name] + slow).run()
        _ = try await scene.larder("run", image, scene.origin.url("/gone-2.jpg"), "nonsense", "--batch", "two")
        let gone = (3...7).map { scene.origin.url("/gone-\($0).jpg") }
        _ = try await scene.larder(["run", "--batch", "three"] + gone).run()
        _ = try await scene.larder("run", scene.origin.url("/gone-8.jpg"), "--batch", "four")
        _ = try await scene.larder("run", scene.origin.url("/gone-9.jpg"), "--batch", "five")
        try scene.directory.write("http://a.example/1\n".utf8, to: "list")
        _ = try await scene.larder(
            "schedule", "set", "nightly", "--cron", "0 2 * * *", "--from", scene.directory.file("list"))
        _ = try await scene.larder(
            "blocklist", "add", "http://a.example/<i>.jpg", "--reason", "<script>alert(1)</script>")
        let worker = try scene.larder(["work"]).start()
        try await scene.until("EXISTS (SELECT FROM larder.running)")
        let token = "0123456789abcdefXYZ"
        try scene.directory.write(token.utf8, to: "token")
        let options = ["--allow-changes", "--token-file", scene.directory.file("token"), "--json"]
        let process = try scene.larder(["serve", "--listen", "127.0.0.1:0"] + options).start()
        @Sendable func port() -> Int? {
            String(decoding: process.outputSoFar, as: UTF8.self).firstMatch(of: /"port":(\d+)/).flatMap { Int($0.1) }
        }
        #expect(await process.reaches { _ in port() != nil })
        let address = "127.0.0.1:\(try #require(port()))"
        let configuration: [String: Any] = [
            "url": "http://\(address)/", "token": token, "name": name, "image": image, "database": scene.database.url,
            "worker": try #require(try await scene.sql("SELECT name FROM larder.worker WHERE state = 'live'")),
            "process": Int(process.processID), "environment": scene.environment,
            "again": [Products.larder, "serve", "--listen", address] + options,
        ]
        try scene.directory.write(try JSONSerialization.data(withJSONObject: configuration), to: "configuration")
        let found = try await faults("dashboard.py", [scene.directory.file("configuration")])
        #expect(found.isEmpty, "\(found)")
        #expect(await process.outcome().code == 0)
        worker.signal(SIGKILL)
        _ = await worker.outcome()
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
