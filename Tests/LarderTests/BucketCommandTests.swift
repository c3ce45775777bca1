import Foundation
import TestSupport
import Testing

/// The commands with a cache in a bucket, against moto.
@Suite(.enabled(if: MotoServer.isEnabled, "make object-stores"), .timeLimit(.minutes(5)))
struct BucketCommandTests {
    private let scene: Scene
    private let bucket = "test-" + UUID().uuidString.lowercased()

    init() async throws {
        scene = try await Scene()
        try await MotoServer.call("PUT", bucket)
    }

    private func larder(_ arguments: String...) async throws -> CommandOutcome {
        try await command(arguments).run()
    }

    private func command(_ arguments: [String]) async throws -> LarderCommand {
        var command = scene.larder(arguments)
        command.environment["LARDER_CACHE"] = "s3://\(bucket)/images"
        command.environment["LARDER_S3_ENDPOINT"] = "http://127.0.0.1:\(try await MotoServer.port())"
        command.environment["AWS_ACCESS_KEY_ID"] = "id"
        command.environment["AWS_SECRET_ACCESS_KEY"] = "secret"
        return command
    }

    @Test func `run, list, check, copy, bundle and clear a bucket`() async throws {
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let variant = #"{"name":"small","thumbnail":{"width":20,"height":20}}"#
        for _ in 0..<2 {
            let run = try await larder("run", url, "--variant", variant, "--json", "--batch", "b")
            #expect(run.code == 0, "\(run.text)\(run.errorText)")
        }
        #expect(scene.origin.count("/a.jpg") == 1)
        let list = try await larder("cache", "list", "--json")
        #expect(list.code == 0, "\(list.text)\(list.errorText)")
        #expect(list.lines.count == 2, "\(list.text)\(list.errorText)")
        let stat = try await larder("cache", "stat", "--quick", "--json")
        #expect(stat.text.contains(#""files":2"#), "\(stat.text)\(stat.errorText)")
        let verify = try await larder("cache", "verify")
        #expect(verify.code == 0, "\(verify.text)\(verify.errorText)")
        let path = try await larder("cache", "path", url)
        #expect(path.text.hasPrefix("s3://\(bucket)/images/default/"), "\(path.text)")

        let directory = scene.directory.file("copy")
        let first = try await larder("cache", "copy", "s3://\(bucket)/images", directory)
        #expect(first.text.hasPrefix("2 files copied"), "\(first.text)\(first.errorText)")
        let back = try await larder("cache", "copy", directory, "s3://\(bucket)/other", "--json")
        #expect(back.text.contains(#""copied":2"#), "\(back.text)\(back.errorText)")
        let again = try await larder("cache", "copy", directory, "s3://\(bucket)/other", "--json")
        #expect(again.text.contains(#""copied":0"#), "\(again.text)")
        #expect(again.text.contains(#""present":2"#), "\(again.text)")

        let bundle = scene.directory.file("b.tar.zst")
        let export = try await larder("cache", "export", "--batch", "b", "-o", bundle)
        #expect(export.code == 0, "\(export.text)\(export.errorText)")
        #expect(export.text.hasPrefix("2 files"), "\(export.text)\(export.errorText)")
        let cleared = try await larder("cache", "clear", "--yes", "--json")
        #expect(cleared.text.contains(#""deleted":2"#), "\(cleared.text)\(cleared.errorText)")
        let imported = try await larder("cache", "import", bundle)
        #expect(imported.text.hasPrefix("2 files stored"), "\(imported.text)\(imported.errorText)")
        let fresh = try await larder("enqueue", url, "--fresh-for", "1d", "--cache", "s3://\(bucket)/images", "--json")
        #expect(fresh.code == 0, "\(fresh.text)\(fresh.errorText)")
    }

    /// Stores a whole image, and one whose bytes do not match its metadata; returns their names.
    private func layTwo() async throws -> (whole: String, damaged: String) {
        let names = (whole: "0cc175b9c0f1b6a831c399e269772661", damaged: "92eb5ffee6ae2fec3ad71c777531578f")
        let place = "\(bucket)/images/default/"
        try await MotoServer.call("PUT", place + names.whole, bytes: try TestImage.bytes("plain.jpg"))
        try await MotoServer.call(
            "PUT", place + names.damaged, bytes: try TestImage.bytes("alpha.png"),
            metadata: ["sha256": String(repeating: "0", count: 64)])
        return names
    }

    @Test func `verify --remove deletes a damaged object, and none that the server does not send`() async throws {
        let (whole, damaged) = try await layTwo()
        try await MotoServer.call("PUT", "\(bucket)/images/.larder-cache-id", "11111111-2222-3333-4444-555555555555\n")
        // The id and two listings, then the objects.
        let denied = #"[null,null,null,"denied","denied","denied","denied"]"#
        try await MotoServer.call("POST", "larder/faults/\(bucket)", denied)
        let first = try await larder("cache", "verify", "--remove", "--yes", "--json")
        #expect(first.code == 1, "\(first.text)\(first.errorText)")
        #expect(first.lines.count { $0.contains(#""fault":"unreadable""#) } == 2, "\(first.text)")
        #expect(first.text.contains(#""faults":2"#), "\(first.text)")
        #expect(first.text.contains(#""removed":0"#), "\(first.text)")

        try await MotoServer.call("POST", "larder/faults/\(bucket)", "[]")
        let second = try await larder("cache", "verify", "--remove", "--yes", "--json")
        #expect(second.code == 1, "\(second.text)")
        #expect(second.lines.first?.contains(#""fault":"digest""#) == true, "\(second.text)")
        #expect(second.text.contains(#""decoded":1"#), "\(second.text)")
        #expect(second.text.contains(#""removed":1"#), "\(second.text)")
        let left = try await MotoServer.call("GET", bucket)
        #expect(left.contains(whole), "\(left)")
        #expect(!left.contains(damaged), "\(left)")
    }

    @Test func `copy names strays and damaged objects, and copies the rest`() async throws {
        let (_, damaged) = try await layTwo()
        let place = "\(bucket)/images/default/"
        // What consoles store for a folder, and an object below it.
        try await MotoServer.call("PUT", place, bytes: [])
        try await MotoServer.call("PUT", place + "sub/x", bytes: [1])
        let directory = scene.directory.file("copy")
        for (copied, present) in [(1, 0), (0, 1)] {
            let copy = try await larder("cache", "copy", "s3://\(bucket)/images", directory, "--json")
            #expect(copy.code == 1, "\(copy.text)\(copy.errorText)")
            let line = try fields(try #require(copy.lines.last))
            #expect(line["copied"] as? Int == copied, "\(copy.text)")
            #expect(line["present"] as? Int == present, "\(copy.text)")
            #expect(line["stray"] as? Int == 2, "\(copy.text)")
            #expect(line["failed"] as? Int == 1, "\(copy.text)")
            for name in ["", "sub/x", damaged] {
                #expect(copy.errorText.contains("larder: not copied: s3://\(place)\(name): "), "\(copy.errorText)")
            }
        }
    }

    @Test func `doctor stores, reads and deletes a probe`() async throws {
        let outcome = try await larder("doctor")
        #expect(outcome.text.contains("ok   cache: s3://\(bucket)/images/default can be written and read"))
        #expect(try await MotoServer.call("GET", bucket).contains("<Key>") == false)
    }

    @Test func `what cannot work is said in words`() async throws {
        let missing = try await larder("cache", "list", "--cache", "s3://no-such-bucket-\(bucket)/x")
        #expect(missing.code == 1, "\(missing.errorText)")
        #expect(missing.errorText.contains("NoSuchBucket"), "\(missing.errorText)")
        let name = try await larder("cache", "list", "--cache", "s3://x/")
        #expect(name.code == 2, "\(name.errorText)")
        #expect(name.errorText.contains("cannot be the name of a bucket"), "\(name.errorText)")
        let trim = try await larder("cache", "trim", "--dry-run")
        #expect(trim.code == 1, "\(trim.errorText)")
        #expect(trim.errorText.contains("life-cycle rule"), "\(trim.errorText)")
        let work = try await larder("work", "--drain", "--max-size", "1GiB")
        #expect(work.code == 2, "\(work.errorText)")
        #expect(work.errorText.contains("life-cycle rule"), "\(work.errorText)")
        let share = try await larder("cache", "verify", "--share")
        #expect(share.code == 2, "\(share.errorText)")
        #expect(share.errorText.contains("must be a directory"), "\(share.errorText)")
        try await MotoServer.call("POST", "larder/faults/\(bucket)", #"["skew","skew"]"#)
        let skewed = try await larder("cache", "list")
        #expect(skewed.code == 1, "\(skewed.errorText)")
        #expect(skewed.errorText.contains("RequestTimeTooSkewed"), "\(skewed.errorText)")
    }

    @Test func `the bucket examples of the page on storage run`() async throws {
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        try await MotoServer.call("PUT", "\(bucket)/originals/a.jpg", bytes: try TestImage.bytes("plain.jpg"))
        try await MotoServer.call("PUT", "\(bucket)/lists/urls.csv", "url\n\(url)\n")
        var environment = try await command([]).environment
        environment["PATH"] = Products.directory + ":/usr/bin:/bin"
        let blocks = try Document("docs/storage.md").blocks.filter { $0.language == .sh && $0.needsBucket }
        #expect(blocks.count >= 4)
        for block in blocks {
            for line in block.commands {
                let text = line.replacing("my-bucket", with: bucket).replacing("https://example.com/a.jpg", with: url)
                    .replacing("/var/cache/larder", with: scene.directory.file("copied"))
                let outcome = try await RunningCommand("/bin/sh", ["-c", text], environment: environment).outcome()
                #expect(outcome.code == 0, "\(text): \(outcome.text)\(outcome.errorText)")
            }
        }
    }
}
