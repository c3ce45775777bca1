import Foundation
import TestSupport
import Testing

/// Bundles for Kingfisher and Nuke, found as these libraries find files. Sources: Kingfisher 8.11.0,
/// Cache/DiskStorage.swift:390, :628 and Cache/ImageCache.swift:1466; Nuke 13.2.0, Caching/DataCache.swift:122 and
/// Pipeline/ImagePipeline+Cache.swift:207.
@Suite(.timeLimit(.minutes(5)))
struct NamedBundleTests {
    private static let variant = #"{"name":"small","thumbnail":{"width":40,"height":40}}"#

    private struct Library: Sendable, CustomTestStringConvertible {
        let naming, digest, directory, processor: String
        var testDescription: String { naming }
    }

    private static let libraries = [
        Library(
            naming: "kingfisher", digest: "sha256sum", directory: "com.onevcat.Kingfisher.ImageCache.default",
            processor: "@com.onevcat.Kingfisher.DownsamplingImageProcessor((40.0, 40.0))"),
        Library(
            naming: "nuke", digest: "sha1sum", directory: "com.github.kean.Nuke.DataCache",
            processor: "com.github/kean/nuke/thumbnail?width=40.0,height=40.0,contentMode=.aspectFit,"
                + "options=truetruetruetrue"),
    ]

    private func digest(_ text: String, _ program: String, _ scene: Scene) async throws -> String {
        let file = scene.directory.file("key")
        try Data(text.utf8).write(to: URL(filePath: file))
        let outcome = try await RunningCommand(
            "/usr/bin/" + program, [file], environment: [:]
        ).outcome()
        return String(try #require(outcome.lines.first).prefix { $0 != " " })
    }

    @Test(arguments: libraries)
    private func `an exported bundle has each image where the library looks for it`(_ library: Library) async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let flipped = #"{"name":"flipped","transform":[{"type":"flip","horizontal":true}]}"#
        let run = ["run", url, "--batch", "b", "--variant", Self.variant, "--variant", flipped]
        #expect(try await scene.larder(run).run().code == 0)
        let bundle = scene.directory.file("bundle")
        let export = try await scene.larder("cache", "export", "--batch", "b", "--naming", library.naming, "-o", bundle)
        // The flipped variant has no equal.
        #expect(export.code == 1, "\(export.errorText)")
        #expect(export.errorText.contains("$.transform[0]: flip"), "\(export.errorText)")
        var files: [String] = []
        for key in [url, url + library.processor] {
            let name = try await digest(key, library.digest, scene)
            files.append(name)
            let attributes = try FileManager.default.attributesOfItem(
                atPath: "\(bundle)/\(library.directory)/\(name)")
            let date = try #require(attributes[.modificationDate] as? Date)
            #expect((date > Date()) == (library.naming == "kingfisher"))
        }
        let found = try FileManager.default.contentsOfDirectory(atPath: "\(bundle)/\(library.directory)")
        #expect(found.sorted() == files.sorted())
    }

    @Test(arguments: libraries)
    private func `of two variants with one key in the library the first is exported`(_ library: Library) async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let tiff = #"{"name":"tiff","thumbnail":{"width":40,"height":40},"format":"tiff"}"#
        let run = ["run", url, "--batch", "b", "--variant", Self.variant, "--variant", tiff]
        #expect(try await scene.larder(run).run().code == 0)
        let bundle = scene.directory.file("bundle")
        let naming = ["--naming", library.naming]
        let command = ["cache", "export", "--batch", "b", "-o", bundle, "--json"] + naming
        let export = try await scene.larder(command).run()
        #expect(export.code == 1)
        let line = try fields(try #require(export.lines.last, "\(export.errorText)"))
        #expect(line["files"] as? Int == 2, "\(export.text)")
        #expect(line["refused"] as? Int == 1, "\(export.text)")
        #expect(export.errorText.contains("naming \(library.naming): tiff: $: "), "\(export.errorText)")
        #expect(export.errorText.contains("give it a keySuffix"), "\(export.errorText)")
        // Each file matches its line in the manifest; the variant is the one that the job made first.
        let verify = try await scene.larder(["cache", "verify", "--cache", bundle] + naming).run()
        #expect(verify.code == 0, "\(verify.text)")
        let name = try await digest(url + library.processor, library.digest, scene)
        let bytes = try Data(contentsOf: URL(filePath: "\(bundle)/\(library.directory)/\(name)"))
        #expect(bytes.starts(with: [0xFF, 0xD8]), "a JPEG, as its original")
    }

    @Test(arguments: libraries)
    private func `a worker's cache can have the naming of a library`(_ library: Library) async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg?token=1")
        let naming = ["--naming", library.naming]
        let rule = ["--cache-key", #"{"dropQuery":["token"]}"#]
        let run = ["run", url, "--batch", "b", "--variant", Self.variant] + naming + rule
        #expect(try await scene.larder(run).run().code == 0)
        let original = url.replacing("?token=1", with: "")
        for key in [original, original + library.processor] {
            let name = try await digest(key, library.digest, scene)
            let path = try await scene.larder(["cache", "path", key] + naming).run().lines.first
            #expect(path?.hasSuffix("\(library.directory)/\(name)") == true)
            #expect(path.map(FileManager.default.fileExists) == true)
        }
        let keys = try await scene.larder(["key", url, "--variant", Self.variant] + naming + rule).run().lines
        let digest = try await digest(original, library.digest, scene)
        try #require(keys.count == 2)
        #expect(keys[0].contains(digest))
        #expect(try await scene.larder(["cache", "verify"] + naming).run().code == 0)
        #expect(try await scene.larder(["cache", "list"] + naming).run().lines.count == 2)
        #expect(try await scene.larder(["cache", "stat"] + naming).run().code == 0)
    }
}
