import Foundation
import TestSupport
import Testing

/// Support for the tests of pages.
private enum BrowserModules {
    static let path = PackageRoot.path + "/.build/browser"
    static let areInstalled =
        FileManager.default.fileExists(atPath: path + "/complete")
        && FileManager.default.fileExists(atPath: "/usr/bin/chromium")
    /// Nothing is skipped where the checks of the project run.
    static let areWanted = areInstalled || ProcessInfo.processInfo.environment["CI"] == "true"
}

/// The pages in Chromium, by Playwright: buttons, the keyboard, the rules of axe-core, light and dark, as wide as a
/// phone and as a desk, of which `make test` looks at one. `scripts/browser` installs what they need. One at a time, as
/// each has a browser of its own.
@Suite(
    .enabled(if: BrowserModules.areWanted, "needs chromium, and what scripts/browser installs"),
    .timeLimit(.minutes(30)), .serialized)
struct BrowserTests {
    /// Only a failing test takes that long.
    private static let limit = Duration.seconds(1_700)

    /// The errors that the script finds.
    private func faults(_ script: String, _ arguments: [String]) async throws -> String {
        let outcome = try await RunningCommand(
            "/usr/bin/python3", [PackageRoot.path + "/Tests/Browser/" + script] + arguments,
            environment: [
                "PYTHONPATH": BrowserModules.path, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1",
                "LARDER_TEST_TIER": Tier.isNightly ? "nightly" : "",
            ],
            limit: Self.limit
        ).outcome()
        return outcome.code == 0 ? outcome.text : outcome.text + outcome.errorText
    }

    @Test func `each button of the dashboard changes the database while a worker runs`() async throws {
        let scene = try await Scene()
        try await dashboard("buttons.py", of: scene) {}
    }

    @Test func `the dashboard follows the database, and the keyboard alone changes it`() async throws {
        let scene = try await Scene()
        try await dashboard("live.py", of: scene) {
            _ = try await scene.sql("SELECT larder.queue_pause('default')")
        }
    }

    @Test func `each page shows hostile text as text, and is readable light and dark, narrow and wide`() async throws {
        let scene = try await Scene()
        try await dashboard("looks.py", of: scene) {}
    }

    /// Runs a script against `larder serve` and a worker, with four batches that are over, and a fifth whose jobs run
    /// until the worker is killed.
    ///
    /// - Parameter prepare: what comes before the worker.
    private func dashboard(_ script: String, of scene: Scene, _ prepare: () async throws -> Void) async throws {
        let name = "<b onclick=alert(1)>'&\"\u{2066}"
        let token = "0123456789abcdefXYZ"
        let image = try scene.serve("plain.jpg", at: "/a.jpg")
        let gone = (2...9).map { scene.origin.url("/gone-\($0).jpg") }
        let hostile = scene.origin.url("/<script>alert(1)</script>.jpg")
        for (batch, urls) in [
            ("one", [image, gone[0], "nonsense"]), ("two", gone[1...5] + [hostile]), ("three", [gone[6]]),
            ("four", [gone[7]]),
        ] {
            #expect(try await scene.larder(["run", "--batch", batch] + urls).run().code == 1)
        }
        let slow = (1...40).map { number -> String in
            // A request has the marks encoded; the batch has the URL as it is given.
            scene.origin.on("/%3Ci%3Eslow%3C/i%3E\(number).jpg", .silent)
            return scene.origin.url("/<i>slow</i>\(number).jpg")
        }
        #expect(try await scene.larder(["enqueue", "--batch", name] + slow).run().code == 0)
        try scene.directory.write("http://a.example/1\n".utf8, to: "list")
        let list = ["--cron", "0 2 * * *", "--from", scene.directory.file("list")]
        for schedule in ["nightly", name] {
            #expect(try await scene.larder(["schedule", "set", schedule] + list).run().code == 0)
        }
        let reason = ["--reason", "<script>alert(1)</script>"]
        #expect(try await scene.larder(["blocklist", "add", "http://a.example/<i>.jpg"] + reason).run().code == 0)
        try await prepare()
        // The machine may stand still for as long as a lease, and for longer than a worker waits for a byte.
        _ = try await scene.sql("UPDATE larder_data.settings SET lease_ms = 3600000")
        var command = scene.larder(["work", "--idle-timeout", "1h", "--total-timeout", "1h"])
        command.limit = Self.limit
        let worker = try command.start()
        try await scene.until("EXISTS (SELECT FROM larder.worker WHERE state = 'live')")
        if try await scene.sql("SELECT paused_at IS NULL FROM larder.queue") == "t" {
            try await scene.until("EXISTS (SELECT FROM larder.running)")
        }
        try scene.directory.write(token.utf8, to: "token")
        let configuration: [String: Any] = [
            "serve": [
                LarderCommand.executable, "serve", "--json", "--allow-changes", "--token-file",
                scene.directory.file("token"),
            ],
            "environment": scene.environment, "token": token, "database": scene.database.url, "name": name,
            "image": image, "file": PackageRoot.path + "/Tests/TranscoderTests/Images/plain.jpg",
            "worker": try #require(try await scene.sql("SELECT name FROM larder.worker WHERE state = 'live'")),
        ]
        try scene.directory.write(try JSONSerialization.data(withJSONObject: configuration), to: "configuration")
        let found = try await faults(script, [scene.directory.file("configuration")])
        #expect(found.isEmpty, "\(found)")
        worker.signal(SIGKILL)
        _ = await worker.outcome()
    }

    @Test func `a report works from disk with the network cut, and the page of its batch`() async throws {
        let scene = try await Scene()
        scene.origin.on("/z.gif", .body(MadeGIF.bytes(120, 90, frames: 3)))
        let urls = [
            try scene.serve("plain.jpg", at: "/a.jpg"), try scene.serve("plain.jpg", at: "/b.jpg"),
            scene.origin.url("/<script>alert(1)</script>.jpg"), scene.origin.url("/z.gif"),
            try scene.serve("plain.jpg", at: "/signed.jpg?token=s3cret"),
        ]
        _ = try await scene.larder(["run", "--batch", "<b>", "--variant", Variants.small] + urls).run()
        let file = scene.directory.file("report.html")
        #expect(try await scene.larder("report", "<b>", "--format", "html", "-o", file).code == 0)
        try await serving(scene) { address in
            let found = try await faults("report.py", [file, "\(urls.count)", address + "#/batches/1"])
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
