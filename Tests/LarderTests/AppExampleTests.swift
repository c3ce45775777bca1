import Foundation
import TestSupport
import Testing

/// The package of examples/app, on Linux without SDWebImage.
@Suite(.enabled(if: Tier.isNightly, "make nightly"), .timeLimit(.minutes(5)))
struct AppExampleTests {
    private struct Key: Decodable {
        let key, file: String
    }

    /// The namings, and where each library has its images below the app's caches.
    private static let libraries = [
        ("sdwebimage", "default"), ("kingfisher", "com.onevcat.Kingfisher.ImageCache.default"),
        ("nuke", "com.github.kean.Nuke.DataCache"),
    ]
    private static let unknown = "http://a/none.jpg"

    /// The built `find-image`; its files are in the scene's directory.
    private func program(_ scene: Scene) async throws -> String {
        let scratch = scene.directory.file("build")
        let build = ["swift", "build", "--package-path", PackageRoot.path + "/examples/app", "--scratch-path", scratch]
        let outcome = try await RunningCommand(
            "/usr/bin/env", build,
            environment: ProcessInfo.processInfo.environment.merging(["TMPDIR": scene.directory.path]) { $1 }
        ).outcome()
        try #require(outcome.code == 0, "\(outcome.text)\(outcome.errorText)")
        return scratch + "/debug/find-image"
    }

    private func run(_ program: String, _ arguments: [String]) async throws -> [String] {
        let outcome = try await RunningCommand(program, arguments, environment: [:]).outcome()
        try #require(outcome.code == 0, "\(outcome.errorText)")
        return outcome.lines
    }

    @Test func `an app finds the original and a variant by their keys, in the bundle and in its caches`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let variant = #"{"name":"small","thumbnail":{"width":40,"height":40}}"#
        #expect(try await scene.larder("run", url, "--batch", "b", "--variant", variant).code == 0)
        let program = try await program(scene)

        for (naming, directory) in Self.libraries {
            let bundle = scene.directory.file("bundle-" + naming)
            let export = try await scene.larder("cache", "export", "--batch", "b", "--naming", naming, "-o", bundle)
            #expect(export.code == 0, "\(export.errorText)")
            let keys = try await scene.larder("key", url, "--variant", variant, "--naming", naming).lines.map {
                try JSONDecoder().decode(Key.self, from: Data($0.utf8))
            }
            #expect(keys.count == 2)
            let given = keys.map(\.key) + [Self.unknown]
            let missing = "not in the bundle: \(Self.unknown)"
            let files = keys.map { "\(bundle)/\(directory)/\($0.file)" }
            #expect(try await run(program, [bundle] + given) == files + [missing])

            // An archive of the app may have lost the dates.
            for file in files {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: file)
            }
            let caches = scene.directory.file("caches-" + naming)
            let copies = keys.map { "\(caches)/\(directory)/\($0.file)" }
            for copied in [2, 0] {
                let lines = try await run(program, ["--install", caches, bundle] + given)
                #expect(lines == ["copied: \(copied)"] + copies + [missing])
            }
            for (file, copy) in zip(files, copies) {
                #expect(try Data(contentsOf: URL(filePath: copy)) == Data(contentsOf: URL(filePath: file)))
                // Kingfisher takes it for the date of expiry.
                let date = try FileManager.default.attributesOfItem(atPath: copy)[.modificationDate] as? Date
                let year2100 = 4_102_444_800.0
                #expect(date.map { abs($0.timeIntervalSince1970 - year2100) < 1 } == true, "\(copy)")
            }
        }
    }
}
