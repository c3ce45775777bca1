import Foundation
import Glibc
import JobQueue
import TestSupport
import Testing

@testable import Commands
@testable import Terminal

/// The line of progress: what it says at which width, its rate, and how it is drawn on a terminal.
@Suite(.timeLimit(.minutes(5)))
struct ProgressTests {
    private let line = ProgressLine(
        done: 600, total: 1200, rate: 12.34, secondsLeft: 48, notes: ["paused", "3 failed", "1 cancelled"])

    @Test(
        arguments: [
            (nil, "50% 600/1200, paused, 3 failed, 1 cancelled, 12.3/s, 48s left"),
            (
                200,
                "[###############...............] 50% 600/1200, paused, 3 failed, 1 cancelled, 12.3/s, 48s left"
            ),
            (80, "[#####.....] 50% 600/1200, paused, 3 failed, 1 cancelled, 12.3/s, 48s left"),
            (70, "50% 600/1200, paused, 3 failed, 1 cancelled, 12.3/s, 48s left"),
            (40, "50% 600/1200, paused, 12.3/s, 48s left"), (30, "50% 600/1200, 12.3/s, 48s left"),
            (29, "50% 600/1200, 12.3/s"), (19, "50% 600/1200"), (12, "50% 600/1200"), (11, "50%"),
        ] as [(Int?, String)])
    func `less important parts are left out of a narrow line`(width: Int?, wanted: String) {
        #expect(line.text(width: width) == wanted)
    }

    @Test func `the reasons of failures give way before their number`() {
        let line = ProgressLine(
            done: 3, total: 11, rate: 1, secondsLeft: 7, notes: ["3 failed (3× 2001)", "2 running"])
        #expect(line.text(width: 44) == "27% 3/11, 3 failed (3× 2001), 1.0/s, 7s left")
        #expect(line.text(width: 43) == "27% 3/11, 3 failed, 1.0/s, 7s left")
        #expect(line.text(width: 33) == "27% 3/11, 1.0/s, 7s left")
    }

    @Test func `at 40 columns a long name gives way to the numbers, and no word is cut`() async throws {
        let scene = try await Scene()
        let name = "products-of-the-summer-sale-in-europe"
        _ = try await scene.larder(["enqueue", "--batch", name] + (1...600).map { "http://a.example/\($0)" }).run()
        let progress = try await scene.queue.reports.progress(of: .name(name))
        func text(_ width: Int?, rate: Double = 12.34) -> String {
            ProgressText.status(progress, rate: rate, width: width)
        }
        #expect(text(39) == "product… (1): waiting, 0% 0/600, 12.3/s\n")
        #expect(text(60) == "products-of-the-su… (1): waiting, 0% 0/600, 12.3/s, 48s left\n")
        #expect(text(20, rate: 0) == "… (1): waiting, 0%\n")
        #expect(text(nil) == "\(name) (1): waiting, 0% 0/600, 12.3/s, 48s left\n")
        _ = try await scene.larder("pause", name)
        let paused = try await scene.queue.reports.progress(of: .name(name))
        #expect(ProgressText.status(paused, rate: 0, width: 39) == "products-of-the-… (1): paused, 0% 0/600\n")
        let errors = "errors: 3 × SDWebImageErrorDomain"
        #expect(TerminalCells.shortened(errors + " 2001", 36) == errors + "…")
        #expect(TerminalCells.shortened("写真写真", 5) == "写真…")
        #expect(TerminalCells.shortened("写真", 4) == "写真")

        _ = try await scene.larder("cancel", name)
        let watched = try await RunningCommand(
            "/usr/bin/script",
            ["-qefc", "stty cols 40; exec \(LarderCommand.executable) status \(name) --watch", "/dev/null"],
            environment: scene.environment.merging(["PATH": "/usr/bin:/bin", "HOME": scene.directory.path]) { a, _ in a
            },
            input: []
        ).outcome()
        #expect(watched.text.contains("(1): cancelled, 100% 600/600"), "\(watched.text.debugDescription)")
    }

    @Test func `widths are cells of the terminal`() {
        #expect(TerminalCells.count("写a\u{301}😀") == 5)
        #expect(TerminalCells.prefix("写真a", 3) == "写")
        #expect(TerminalCells.prefix("写真a", 5) == "写真a")
        let wide = ProgressLine(done: 1, total: 2, notes: ["写真写真"])
        #expect(wide.text(width: 17) == "50% 1/2, 写真写真")
        #expect(wide.text(width: 16) == "50% 1/2")
    }

    @Test func `failures are counted without codes`() {
        #expect(ProgressText.failed(3, [(1_001, 1), (2_001, 2)]) == "3 failed")
        #expect(ProgressText.failed(1, []) == "1 failed")
    }

    @Test func `a drain shows what holds it up and the time left`() async throws {
        let glance = QueueGlance(isPaused: false, heldOrigins: 2, openItems: 20)
        #expect(glance.notes == ["2 origins held"])
        #expect(QueueGlance(isPaused: true, heldOrigins: 1).notes == ["queue paused", "1 origin held"])
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "--at", "+1h", scene.origin.url("/a"), scene.origin.url("/b"))
        _ = try await scene.larder("pause", "--queue", "default")
        let seen = await QueueGlance.of("default", in: scene.queue)
        #expect(seen == QueueGlance(isPaused: true, heldOrigins: 0, openItems: 2))
    }

    @Test func `a total that grew is not exceeded, and nothing of nothing is all`() {
        #expect(ProgressLine(done: 12, total: 10).text(width: nil) == "100% 12/12")
        #expect(ProgressLine(done: 0, total: 0).text(width: 21) == "[##########] 100% 0/0")
        #expect(ProgressLine(done: 7, total: nil, unit: "files read").text(width: 80) == "7 files read")
    }

    @Test func `the rate is measured over the last seconds, not over the whole time`() {
        var rate = RecentRate()
        let start = ContinuousClock.now
        let first = rate.update(0, at: start)
        #expect(first == nil)
        var count = 0
        for second in 1...100 {
            count += 10
            let now = rate.update(count, at: start + .seconds(second))
            #expect(abs((now ?? 0) - 10) < 0.001)
        }
        // After 30 s without progress little is left of it.
        var now = 0.0
        for second in 101...130 { now = rate.update(count, at: start + .seconds(second)) ?? -1 }
        #expect(now > 0)
        #expect(now < 1)
        let again = rate.update(count, at: start + .seconds(130))
        #expect(again == now)
    }

    @Test func `on a terminal failures are lines above the progress`() async throws {
        let scene = try await Scene()
        let gate = OriginGate()
        var reply = OriginReply.body(try TestImage.bytes("plain.jpg"))
        reply.steps.insert(.wait(gate), at: 0)
        scene.origin.on("/slow.jpg", reply)
        // `script` runs a command on a terminal of its own, whose size `stty` sets.
        let url = scene.origin.url("/slow.jpg")
        let missing = scene.origin.url("/none.jpg")
        let words = "stty cols 60; exec \(LarderCommand.executable) run \(url) \(missing) --retries 0"
        let run = try RunningCommand(
            "/usr/bin/script", ["-qefc", words, "/dev/null"],
            environment: scene.environment.merging(["PATH": "/usr/bin:/bin", "HOME": scene.directory.path]) { a, _ in a
            },
            input: [])
        #expect(
            await run.reaches { String(decoding: $0.outputSoFar, as: UTF8.self).contains("1/2, 1 failed") })
        gate.openUp()
        let outcome = await run.outcome()
        #expect(outcome.code == 1)
        let text = outcome.text
        // Each line about a failure begins its line: the first, or after a newline or a cleared one. (A terminal's
        // "\r\n" is one Character, so scalars are compared.)
        for part in text.ranges(of: "larder: http") {
            let before = String.UnicodeScalarView(text[..<part.lowerBound].unicodeScalars.suffix(3))
            #expect(before.isEmpty || before.last == "\n" || String(before) == "\u{1B}[K", "\(text.debugDescription)")
        }
        let drawn = text.split(separator: "\u{1B}[K").flatMap { $0.split(whereSeparator: \.isNewline) }
        for line in drawn where line.contains("%") && line.hasPrefix("[") { #expect(line.count < 60, "\(line)") }
    }
}
