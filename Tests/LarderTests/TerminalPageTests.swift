import Foundation
import TestSupport
import Testing

/// docs/terminal.md is what scripts/screens prints with this program, numbers apart.
@Suite(.timeLimit(.minutes(5)))
struct TerminalPageTests {
    /// A page without numbers, and without how far a bar has come.
    private static func masked(_ text: String) -> [String] {
        text.replacing(/\[[#.]+\]/, with: "[bar]").replacing(/[0-9]+(\.[0-9]+)?(m [0-9]+)?/, with: "0")
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    @Test func `the page shows the program's screens, help and errors`() async throws {
        let outcome = try await RunningCommand(
            "/usr/bin/env", ["python3", PackageRoot.path + "/scripts/screens", LarderCommand.executable],
            environment: ["PATH": "/usr/bin:/bin"]
        ).outcome()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        let page = try Document("docs/terminal.md").text
        #expect(Self.masked(outcome.text) == Self.masked(page), "scripts/screens > docs/terminal.md writes the page")
    }

    @Test func `no line of the progress is wider than its terminal`() throws {
        let page = try Document("docs/terminal.md").text
        let screens = page.matches(of: /At (\d+) columns:\n\n```text\n((?s).*?)\n```/)
        #expect(screens.compactMap { Int($0.1) } == [50, 80, 120])
        for screen in screens {
            let line = try #require(screen.2.split(separator: "\n").last)
            #expect(line.count <= Int(screen.1) ?? 0, "\(line)")
            #expect(line.contains("2 failed"), "\(line)")
        }
    }
}
