import Foundation
import TestSupport
import Testing

/// The package of examples/app, on Linux without SDWebImage.
@Suite(.timeLimit(.minutes(5)))
struct AppExampleTests {
    private struct Key: Decodable {
        let key, file: String
    }

    @Test func `an app finds the original and a variant of a bundle by their keys`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let variant = #"{"name":"small","thumbnail":{"width":40,"height":40}}"#
        #expect(try await scene.larder("run", url, "--batch", "b", "--variant", variant).code == 0)
        let bundle = scene.directory.file("bundle")
        #expect(try await scene.larder("cache", "export", "--batch", "b", "-o", bundle).code == 0)
        let keys = try await scene.larder("key", url, "--variant", variant).lines.map {
            try JSONDecoder().decode(Key.self, from: Data($0.utf8))
        }

        let package = PackageRoot.path + "/examples/app"
        let build = ["--package-path", package, "--scratch-path", scene.directory.file("build")]
        let program = try await RunningCommand(
            "/usr/bin/env",
            ["swift", "run"] + build + ["find-image", bundle] + keys.map(\.key) + ["http://a/none.jpg"],
            environment: ProcessInfo.processInfo.environment.merging(["TMPDIR": scene.directory.path]) { $1 }
        ).outcome()
        try #require(program.code == 0, "\(program.errorText)")
        let files = keys.map { "\(bundle)/default/\($0.file)" }
        #expect(program.lines == files + ["not in the bundle: http://a/none.jpg"])
        #expect(files.allSatisfy { FileManager.default.fileExists(atPath: $0) })
    }
}
