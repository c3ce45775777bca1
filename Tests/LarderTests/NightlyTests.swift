import Foundation
import TestSupport
import Testing

/// Several nights in a row, by the commands that deploy/ ships: what one has left or found bad stops no later one.
@Suite(.timeLimit(.minutes(5)))
struct NightlyTests {
    /// What starts the night.
    enum Way: String, CaseIterable { case cron, systemd, kubernetes }

    private static func text(_ name: String) throws -> String {
        try String(contentsOfFile: PackageRoot.path + "/deploy/" + name, encoding: .utf8)
    }

    private static func lines(ofCrontab scene: Scene) throws -> [String] {
        try text("cron/larder").matches(of: /(?m)^(?:\S+ ){5}larder (set -a.*)$/).map {
            String($0.1).replacing("/etc/larder", with: scene.directory.path)
        }
    }

    /// The words after `larder` of a unit's lines of this name.
    private static func commands(_ unit: String, _ line: String, _ scene: Scene) throws -> [[String]] {
        try text("systemd/" + unit).matches(of: /(?m)^(Exec\w+)=\/usr\/bin\/larder (.*)$/).filter { $0.1 == line }.map {
            $0.2.replacing("/etc/larder", with: scene.directory.path).split(separator: " ").map(String.init)
        }
    }

    /// Runs one night and returns what its reader sees: the mail, the journal, or the log of the pods.
    private func night(_ way: Way, _ list: String, _ scene: Scene) async throws -> String {
        try scene.directory.write(list.utf8, to: "nightly.txt")
        var seen = ""
        func run(_ words: [String]) async throws -> Int32? {
            let outcome = try await scene.larder(words).run()
            seen += outcome.text + outcome.errorText
            return outcome.code
        }
        switch way {
        case .cron:
            try scene.directory.write("LARDER_RETRIES=0\n".utf8, to: "larder.env")
            let line = try #require(try Self.lines(ofCrontab: scene).first)
            let outcome = try await scene.shell(line.replacing("logger -t larder", with: "cat >/dev/null"))
            seen = outcome.text + outcome.errorText
        case .systemd:
            let unit = "larder-nightly.service"
            #expect(
                try Self.text("systemd/" + unit).contains("\nWants=network-online.target larder-nightly-list.service\n")
            )
            // Wants: this one is started whatever became of the list.
            for unit in ["larder-nightly-list.service", unit] {
                // A command after one that failed is not started.
                for words in try Self.commands(unit, "ExecStart", scene) where try await run(words) != 0 { break }
            }
            for words in try Self.commands(unit, "ExecStopPost", scene) { _ = try await run(words) }
        case .kubernetes:
            let manifest = try Self.text("kubernetes/base/nightly.yaml")
            let words = try #require(manifest.firstMatch(of: /args: \[(.*)\]/)).1
                .replacing("/lists", with: scene.directory.path).split(separator: ", ").map(String.init)
            let limit = try #require(manifest.firstMatch(of: /backoffLimit: (\d+)/).flatMap { Int($0.1) })
            for _ in 0...limit where try await run(words) == 0 { break }
            _ = try await run(["work", "--drain"])
            _ = try await run(["report", "nightly"])
        }
        return seen
    }

    private func counts(_ batch: String, _ scene: Scene) async throws -> String? {
        try await scene.sql(
            """
            SELECT run || ' ' || state || ': ' || total || ' items, ' || succeeded || ' succeeded, ' || failed || ' failed, '
                || open || ' open' FROM larder.progress WHERE batch_id = larder.batch_id('\(batch)')
            """)
    }

    @Test(arguments: Way.allCases)
    func `a bad line and a URL without an image are reported, and both nights' images are stored`(_ way: Way)
        async throws
    {
        let scene = try await Scene()
        let urls = try ["/a.jpg", "/b.jpg"].map { try scene.serve("plain.jpg", at: $0) }
        scene.origin.on("/page.html", .body(Array("<html></html>".utf8)))
        let page = scene.origin.url("/page.html")
        let first = try await night(way, "url,priority\n\(urls[0]),4\n\(page),4\n\(urls[1]),first\n", scene)
        #expect(first.contains("nightly.txt:4: "), "\(first)")
        #expect(first.contains("the body is not an image"), "\(first)")
        #expect(try await counts("nightly", scene) == "1 finished: 2 items, 1 succeeded, 1 failed, 0 open")
        let second = try await night(way, "url,priority\n\(urls[0]),4\n\(page),4\n\(urls[1]),4\n,4\n", scene)
        #expect(second.contains("nightly.txt:5: "), "\(second)")
        #expect(second.contains("1 blocked"), "\(second)")
        #expect(try await counts("nightly", scene) == "2 finished: 3 items, 2 succeeded, 1 failed, 0 open")
        #expect(try await scene.sql("SELECT count(*) FROM larder.progress") == "2", "no list is enqueued twice")
        #expect(try await scene.faults().isEmpty)
    }

    @Test(arguments: Way.allCases)
    func `a night that is not finished does not keep the next one from its list`(_ way: Way) async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg"), later = try scene.serve("plain.jpg", at: "/b.jpg")
        let first = try await night(way, "url,at\n\(url),\n\(later),+1h\n", scene)
        #expect(first.contains("nightly (1): running\n"), "\(first)")
        #expect(first.contains("  finished: 1\n"), "\(first)")
        let second = try await night(way, url + "\n", scene)
        #expect(try await counts("nightly", scene) == "2 finished: 1 items, 1 succeeded, 0 failed, 0 open")
        #expect(way != .cron || second.isEmpty, "a good night sends no mail: \(second)")
        // The remaining jobs are due in the third night, whose list joins them.
        _ = try await scene.sql("UPDATE larder_data.scheduled SET run_at = now() RETURNING 1")
        _ = try await night(way, later + "\n", scene)
        #expect(try await counts("nightly@1", scene) == "1 finished: 2 items, 2 succeeded, 0 failed, 0 open")
        #expect(try await counts("nightly", scene) == "3 finished: 1 items, 1 succeeded, 0 failed, 0 open")
        #expect(try await scene.faults().isEmpty)
    }

    @Test func `a list that broke off and has changed is refused once`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        _ = try await scene.sql("SELECT larder.batch_open('nightly')")
        _ = try await scene.sql(
            """
            SELECT count(*) FROM larder.enqueue_many(
                ARRAY['\(url)'], 'nightly', source => '\(scene.directory.file("nightly.txt"))')
            """)
        let broken = try await night(.cron, "https://images.example/other.jpg\n", scene)
        #expect(broken.contains("this run takes no further URLs; the same command opens the next one"), "\(broken)")
        #expect(try await counts("nightly", scene) == "1 finished: 1 items, 1 succeeded, 0 failed, 0 open")
        #expect(try await night(.cron, url + "\n", scene).isEmpty)
        #expect(try await counts("nightly", scene) == "2 finished: 1 items, 1 succeeded, 0 failed, 0 open")
    }

    @Test func `the weekly line of the crontab prints nothing while the queue is sound`() async throws {
        let scene = try await Scene()
        try scene.directory.write("LARDER_RETRIES=0\n".utf8, to: "larder.env")
        let lines = try Self.lines(ofCrontab: scene)
        #expect(lines.count == 2)
        let outcome = try await scene.shell(try #require(lines.last))
        #expect(outcome.code == 0, "cron mails nothing")
        #expect(outcome.text.isEmpty, "cron mails nothing")
        #expect(outcome.errorText.isEmpty, "cron mails nothing")
    }
}
