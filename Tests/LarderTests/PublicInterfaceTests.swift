import Foundation
import TestSupport
import Testing

/// What users of the libraries see.
struct PublicInterfaceTests {
    /// Runs a script with the toolchain's programs in reach.
    private func run(_ script: String, _ arguments: String...) async throws -> String {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let outcome = try await RunningCommand(
            "/usr/bin/python3", ["\(PackageRoot.path)/scripts/\(script)"] + arguments, environment: ["PATH": path],
            input: []
        ).outcome()
        #expect(outcome.code == 0, "\(outcome.text)\(outcome.errorText)")
        return outcome.text
    }

    @Test func `the list has the public declarations of the build`() async throws {
        let made = try await run("public-api")
        let kept = try String(contentsOfFile: PackageRoot.path + "/docs/public-api.txt", encoding: .utf8)
        #expect(made == kept, "scripts/public-api > docs/public-api.txt")
    }

    @Test func `at most 120 public types are not inside another one`() throws {
        let kept = try String(contentsOfFile: PackageRoot.path + "/docs/public-api.txt", encoding: .utf8)
        let types = kept.matches(of: #/\n\w+\.\w+: (final |indirect )?(struct|enum|class|actor|protocol|typealias) /#)
        #expect(types.count > 50)
        #expect(types.count <= 120)
    }

    @Test func `DocC builds the pages of the libraries without a warning`() async throws {
        let directory = try TemporaryDirectory()
        _ = try await run("reference", directory.file("pages"))
        let page = directory.file("pages/JobQueue.doccarchive/data/documentation/jobqueue.json")
        #expect(FileManager.default.fileExists(atPath: page))
    }
}
