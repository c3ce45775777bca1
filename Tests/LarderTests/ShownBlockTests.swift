import Foundation
import TestSupport
import Testing

@testable import CommandLine
@testable import Commands
@testable import Lab

/// Every block that a page shows is checked, by its language.
@Suite(.timeLimit(.minutes(5)))
struct ShownBlockTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        try FileManager.default.copyItem(atPath: image("alpha.png"), toPath: directory.file("logo.png"))
    }

    private func image(_ name: String) -> String { PackageRoot.path + "/Tests/TranscoderTests/Images/" + name }

    /// The error in a block; nil when it is correct.
    private func fault(_ block: Document.Block) async throws -> String? {
        switch block.language {
        case .sh, .sql: nil  // ReadmeTests, DocumentTests and TutorialTests run them.
        case .swift, .objc: nil  // Compiled at night.
        case .json: try await faults(ofJSON: block.text)
        case .toml: try await faults(ofTOML: block.text)
        case .yaml: try await faults(ofYAML: block.text)
        case .mermaid: try faults(ofDiagram: block.text)
        case .text, .none: faults(ofCommands: block.text)
        }
    }

    @Test(.enabled(if: Tier.isNightly, "make nightly"))
    func `every program of every page compiles, and a wrong one does not`() async throws {
        let program = try await ShownProgram()
        for page in try Document.names() {
            for block in try Document(page).blocks {
                let faults =
                    switch block.language {
                    case .swift: try await program.faults(ofSwift: block.text)
                    case .objc: try await program.faults(ofObjectiveC: block.text)
                    default: ""
                    }
                #expect(faults.isEmpty, "\(page): \(block.text)\(faults)")
            }
        }
        #expect(try await program.faults(ofSwift: "import Prefetcher\nlet a = ImagePrefetcher()\n") != "")
        #expect(try await program.faults(ofObjectiveC: "int f(void) { return a; }\n") != "")
    }

    @Test func `every block of every page is right in its language`() async throws {
        var seen: Set<Document.Block.Language> = []
        for page in try Document.names() {
            for block in try Document(page).blocks {
                seen.insert(block.language)
                let fault = try await fault(block) ?? ""
                #expect(fault.isEmpty, "\(page): \(block.text)\(fault)")
            }
        }
        #expect(seen == Set(Document.Block.Language.allCases))
    }

    @Test func `a block of an unknown language and a wrong value are faults`() async throws {
        #expect(throws: Document.UnknownLanguage.self) {
            _ = try Document(name: "page", text: "```cobol\nSTOP RUN.\n```\n").blocks
        }
        #expect(try await faults(ofJSON: #"{"name":"v","transform":[{"type":"nothing"}]}"#) != "")
        #expect(try await faults(ofJSON: #"{"cdn": {"origin": []}}"#) != "")
        #expect(try await faults(ofJSON: "{") != "")
        #expect(try await faults(ofTOML: "[limits]\nslot = 1\n") != "")
        #expect(try await faults(ofYAML: "scrape_configs: 1\n") != "")
        #expect(try faults(ofDiagram: "stateDiagram-v2\n    ready --> gone: claim\n") != "")
        #expect(try faults(ofDiagram: "flowchart TD\n    larder --> Nothing\n") != "")
        #expect(faults(ofCommands: "larder work --no-such-option\n") != "")
    }

    /// Variants and transformers are made of an image, credential profiles are read.
    private func faults(ofJSON text: String) async throws -> String {
        guard let object = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] else {
            return "not a JSON object"
        }
        // A life-cycle rule of a bucket, which no command of Larder reads.
        if let rules = object["Rules"] as? [[String: Any]] {
            return rules.allSatisfy { $0["Status"] is String && $0["Filter"] is [String: Any] } ? "" : "not a rule"
        }
        let variant = object["name"] is String && object["type"] == nil ? text : nil
        if let variant = variant ?? (object["type"] as? String).map({ _ in #"{"name":"v","transform":[\#(text)]}"# }) {
            let outcome = try await larder(
                "transform", image("plain.jpg"), "-o", directory.file("out"), "--variant", variant, "--watermarks",
                directory.path)
            return outcome.code == 0 ? "" : outcome.errorText
        }
        try directory.write(text.utf8, to: "credentials.json")
        let outcome = try await larder(
            "fetch", "no URL", "-v", "--credentials", directory.file("credentials.json"), "--profile",
            object.keys.first ?? "")
        return outcome.errorText.contains("SDWebImageErrorDomain 1000") ? "" : outcome.errorText
    }

    private func faults(ofTOML text: String) async throws -> String {
        try directory.write(text.utf8, to: "larder.toml")
        try directory.write("postgresql:///larder\n".utf8, to: "database-url")
        let outcome = try await larder("config", "check", "--config", directory.file("larder.toml"))
        return outcome.code == 0 ? "" : outcome.text + outcome.errorText
    }

    /// Settings of Prometheus.
    private func faults(ofYAML text: String) async throws -> String {
        try directory.write(text.utf8, to: "prometheus.yaml")
        let outcome = try await RunningCommand(
            "/usr/bin/promtool", ["check", "config", directory.file("prometheus.yaml")], environment: [:]
        ).outcome()
        return outcome.code == 0 ? "" : outcome.text + outcome.errorText
    }

    /// A diagram of targets has the targets of Package.swift, a diagram of states the states of a job.
    private func faults(ofDiagram text: String) throws -> String {
        let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        let nodes = lines.dropFirst().flatMap { line in
            line.split(separator: ":")[0].replacing("-->", with: "&").split(separator: "&")
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let known: Set<String>
        switch lines.first {
        case "flowchart TD":
            known = Set(try FileManager.default.contentsOfDirectory(atPath: PackageRoot.path + "/Sources"))
        case "stateDiagram-v2":
            known = ["[*]", "ready", "scheduled", "running", "suspended", "completed"]
        default: return "an unknown kind of diagram"
        }
        return Set(nodes).subtracting(known).sorted().joined(separator: ", ")
    }

    /// Commands in a text have options that exist.
    private func faults(ofCommands text: String) -> String {
        let lines = text.replacing(/\\\n\s*/, with: "").split(separator: "\n")
        return lines.filter { $0.hasPrefix("larder ") || $0.hasPrefix("larder-lab ") }.compactMap { line in
            let words = line.split(separator: " ").dropFirst().map { Array($0.utf8) }
            let table = line.hasPrefix("larder ") ? CommandTable.larder : .lab
            do {
                let (command, rest) = try table.find(words)
                _ = try Arguments(rest, options: command.options + CommandTable.commonOptions, environment: [:])
                return nil
            } catch {
                return "\(line): \(error)"
            }
        }.joined(separator: "\n")
    }

    private func larder(_ arguments: String...) async throws -> CommandOutcome {
        var command = LarderCommand(environment: ["LARDER_HOME": directory.file("home"), "CDN_TOKEN": "secret"])
        command.arguments = arguments
        return try await command.run()
    }
}
