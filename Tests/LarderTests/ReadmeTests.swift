import Foundation
import TestSupport
import Testing

@testable import CommandLine
@testable import Commands

/// Every command that the documentation shows runs, in its order.
@Suite(.timeLimit(.minutes(5)))
struct ReadmeTests {
    /// Commands that are not run; their targets must be in the Makefile.
    private static let makes = ["make demo", "make setup", "make test", "make build", "sudo make install"]

    /// A server that the origin of the test replaces.
    private static let server = "python3 -m http.server --bind 127.0.0.1 8000 &"

    @Test func `every shown command runs`() async throws {
        let scene = try await Scene()
        let site = scene.origin.url("")
        let urls = [try scene.serve("plain.jpg", at: "/a.jpg"), try scene.serve("rgb.png", at: "/b.png")]
        try scene.directory.write(urls.joined(separator: "\n").utf8, to: "urls.txt")
        let makefile = try String(contentsOfFile: PackageRoot.path + "/Makefile", encoding: .utf8)

        // Replaces public hosts by the origin of the test.
        func local(_ text: String) -> String {
            text.replacing("https://example.com", with: site).replacing("http://127.0.0.1:8000", with: site)
                .replacing("--allow-port 8000", with: "--allow-port \(scene.origin.port)")
        }
        var count = 0
        for name in try Document.names() where !(Document.sessions + Document.apart).contains(name) {
            for block in try Document(name).blocks {
                guard [.sh, .sql].contains(block.language) else { continue }
                if block.language == .sql {
                    count += 1
                    let outcome = try await scene.psql(local(block.text))
                    #expect(outcome.code == 0, "\(name): \(block.text)\(outcome.errorText)")
                    continue
                }
                for command in block.commands {
                    count += 1
                    if Self.makes.contains(command) {
                        let target = try #require(command.split(separator: " ").last)
                        #expect(makefile.contains("\n\(target):"), "\(command)")
                    } else if command == Self.server {
                        continue
                    } else {
                        let outcome = try await scene.shell(local(command))
                        #expect(outcome.code == 0, "\(name): \(command): \(outcome.errorText)")
                        if command.hasPrefix("larder report 1 --files") { #expect(outcome.lines.count == 4) }
                    }
                }
            }
        }
        #expect(count >= 12)
        #expect(try scene.directory.names.contains("report.html"))
        let mail = try String(contentsOfFile: scene.directory.file("sent-mail"), encoding: .utf8)
        #expect(mail.contains("To: ops@example.com"))
    }

    @Test func `every command named in prose exists`() async throws {
        let known =
            CommandTable.larder.all.flatMap(\.spellings).map { $0.words.joined(separator: " ") } + ["help", "version"]
        for page in try Document.names() {
            let text = try Document(page).text
            for match in text.matches(of: /`larder ([a-z]+)(?: ([a-z]+))?/) {
                let one = String(match.1)
                let two = match.2.map { "\(one) \($0)" } ?? one
                #expect(known.contains(one) || known.contains(two), "\(page): larder \(two)")
            }
        }
    }

    @Test func `every exit code is in the page of the commands`() async throws {
        let page = try Document("docs/commands.md").text
        for code in 0...4 { #expect(page.contains("\n| \(code) | ")) }
    }
}
