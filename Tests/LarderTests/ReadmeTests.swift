import Foundation
import TestSupport
import Testing

/// Every command that the documentation shows, in its order: it runs, or somebody decided consciously that it need not.
@Suite(.timeLimit(.minutes(5)))
struct ReadmeTests {
    /// Lines that no test runs; their targets must be in the Makefile.
    private static let makes = ["make demo", "make test", "make build", "sudo make install"]

    /// A server on loopback, for which the origin of the test stands in.
    private static let server = "python3 -m http.server --bind 127.0.0.1 8000 &"

    private struct Block {
        let file: String
        let language: String
        /// Commands, without comments, with continued lines joined.
        let commands: [String]
    }

    /// The fenced blocks of shell and SQL of a page, in order.
    private static func blocks(_ file: String) throws -> [Block] {
        let text = try String(contentsOfFile: "\(PackageRoot.path)/\(file)", encoding: .utf8)
        return text.matches(of: /(?m)^```(sh|sql)\n((?s).*?)^```$/).map { match in
            let joined = match.2.replacing(/\\\n\s*/, with: "")
            let lines = joined.split(separator: "\n").map { $0.replacing(/(^|\s+)(#|--) .*$/, with: "") }
            return Block(file: file, language: String(match.1), commands: lines.map(String.init).filter { !$0.isEmpty })
        }
    }

    private static func pages() throws -> [String] {
        let docs = try FileManager.default.contentsOfDirectory(atPath: PackageRoot.path + "/docs")
        return ["README.md"] + docs.filter { $0.hasSuffix(".md") }.sorted().map { "docs/" + $0 }
    }

    @Test func `the commands run as they are shown`() async throws {
        let scene = try await Scene()
        let site = scene.origin.url("")
        let urls = [try scene.serve("plain.jpg", at: "/a.jpg"), try scene.serve("rgb.png", at: "/b.png")]
        try scene.directory.write(urls.joined(separator: "\n").utf8, to: "urls.txt")
        let programs = scene.directory.file("bin")
        try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            atPath: programs + "/larder", withDestinationPath: LarderCommand.executable)
        let makefile = try String(contentsOfFile: PackageRoot.path + "/Makefile", encoding: .utf8)

        var count = 0
        for block in try Self.pages().flatMap(Self.blocks) {
            for command in block.commands {
                count += 1
                let here = command.replacing("https://example.com", with: site)
                    .replacing("http://127.0.0.1:8000", with: site)
                    .replacing("--allow-port 8000", with: "--allow-port \(scene.origin.port)")
                if block.language == "sql" {
                    await #expect(throws: Never.self, "\(block.file): \(command)") { _ = try await scene.sql(here) }
                } else if Self.makes.contains(command) {
                    let target = try #require(command.split(separator: " ").last)
                    #expect(makefile.contains("\n\(target):"), "\(command)")
                } else if command == Self.server {
                    continue
                } else if command.hasPrefix("larder ") {
                    let environment = scene.environment.merging(["PATH": "\(programs):/usr/bin:/bin"]) { $1 }
                    let outcome = try await RunningCommand(
                        "sh", ["-c", "cd \"$0\" && " + here, scene.directory.path], environment: environment, input: [],
                        limit: .seconds(60)
                    ).outcome()
                    #expect(outcome.code == 0, "\(block.file): \(command): \(outcome.errorText)")
                    if command.hasPrefix("larder report 1 --files") { #expect(outcome.lines.count == 4) }
                } else {
                    Issue.record("\(block.file) shows a command that no test knows: \(command)")
                }
            }
        }
        #expect(count >= 12)
        #expect(try scene.directory.names.contains("report.html"))
    }

    @Test func `every command named in passing exists`() async throws {
        let known = try await UsageTests.listed().map { $0.joined(separator: " ") } + ["help"]
        for page in try Self.pages() {
            let text = try String(contentsOfFile: "\(PackageRoot.path)/\(page)", encoding: .utf8)
            for match in text.matches(of: /`larder ([a-z]+)(?: ([a-z]+))?/) {
                let one = String(match.1)
                let two = match.2.map { "\(one) \($0)" } ?? one
                #expect(known.contains(one) || known.contains(two), "\(page): larder \(two)")
            }
        }
    }

    @Test func `every exit code is in the README`() async throws {
        let readme = try String(contentsOfFile: PackageRoot.path + "/README.md", encoding: .utf8)
        for code in 0...4 { #expect(readme.contains("\n| \(code) | ")) }
    }
}
