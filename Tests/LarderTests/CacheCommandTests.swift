import Foundation
import Glibc
import TestSupport
import Testing

/// `larder cache` without a database.
@Suite(.timeLimit(.minutes(5)))
struct CacheCommandTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func larder(_ arguments: String...) async throws -> CommandOutcome {
        var command = LarderCommand(environment: [
            "LARDER_HOME": directory.file("home"), "LARDER_DATABASE_URL": "nonsense",
            "LARDER_CACHE": directory.file("cache"),
        ])
        command.arguments = ["cache"] + arguments
        return try await command.run()
    }

    @Test func `without --cache the default cache is used`() async throws {
        var command = LarderCommand("cache", "path", "http://a.example/a.jpg")
        for (cache, root) in [("own", "own"), (nil, "home/cache"), ("other", "other"), ("", "home/cache")] {
            command.environment = ["LARDER_HOME": directory.file("home")]
            if let cache { command.environment["LARDER_CACHE"] = cache.isEmpty ? "" : directory.file(cache) }
            let outcome = try await command.run()
            #expect(outcome.code == 0, "\(outcome.errorText)")
            #expect(outcome.lines.first?.hasPrefix(directory.file(root) + "/default/") == true, "\(outcome.lines)")
        }
    }

    /// Writes a file as an app does, last read `age` seconds ago.
    private func lay(_ name: String, _ bytes: some Sequence<UInt8>, age: Int = 0) throws {
        let place = directory.file("cache/default")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        try Data("11111111-2222-3333-4444-555555555555\n".utf8).write(
            to: URL(filePath: directory.file("cache/.larder-cache-id")))
        let path = place + "/" + name
        try Data(bytes).write(to: URL(filePath: path))
        let then = timespec(tv_sec: time(nil) - age, tv_nsec: 0)
        #expect(utimensat(AT_FDCWD, path, [then, then], 0) == 0)
    }

    private func layThree() throws {
        try lay("0cc175b9c0f1b6a831c399e269772661.jpg", try TestImage.bytes("plain.jpg"), age: 10)
        try lay("92eb5ffee6ae2fec3ad71c777531578f.000000},2)", try TestImage.bytes("alpha.png"), age: 700_000)
        try lay("4a8a08f09d37b73795649038408b5f33", Array("no image".utf8), age: 5_000_000)
    }

    /// Makes the third file one that begins as an image does.
    private func damageThird() throws {
        try lay("4a8a08f09d37b73795649038408b5f33", [0xff, 0xd8, 0xff] + Array("image".utf8), age: 5_000_000)
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.file("cache/default")).sorted()
    }

    private func last(_ outcome: CommandOutcome) throws -> [String: Any] {
        try fields(try #require(outcome.lines.last))
    }

    @Test func `a namespace that is a link to another cache loses no file`() async throws {
        try layThree()
        let linked = directory.file("linked")
        try FileManager.default.createDirectory(atPath: linked, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            atPath: directory.file("cache/.larder-cache-id"), toPath: linked + "/.larder-cache-id")
        try FileManager.default.createSymbolicLink(
            atPath: linked + "/default", withDestinationPath: "../cache/default")
        for words in [
            ["clear", "--yes"], ["clear", "--dry-run"], ["trim", "--max-age", "0"], ["verify", "--remove", "--yes"],
            ["remove", "a", "--variant", "v=1x1", "--yes"],
        ] {
            var command = LarderCommand(environment: ["LARDER_HOME": directory.file("home")])
            command.arguments = ["cache"] + words + ["--cache", linked]
            let outcome = try await command.run()
            #expect(outcome.code == 1, "\(words)")
            #expect(outcome.errorText.contains(linked + "/default is a symbolic link"), "\(outcome.errorText)")
        }
        #expect(try names().count == 3)
        // Reading goes through the link.
        var command = LarderCommand(environment: ["LARDER_HOME": directory.file("home")])
        command.arguments = ["cache", "stat", "--cache", linked]
        #expect(try await command.run().text.hasPrefix("3 files, "))
    }

    @Test func `stat counts files, bytes, formats and ages`() async throws {
        try layThree()
        let outcome = try await larder("stat", "--json")
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.lines.count == 1, "\(outcome.errorText)")
        let line = try last(outcome)
        #expect(line["files"] as? Int == 3)
        #expect(line["entries"] as? Int == 3)
        let formats = try #require(line["formats"] as? [String: [String: Int]])
        #expect(Set(formats.keys) == ["jpeg", "png", "unknown"])
        #expect(formats["unknown"]?["bytes"] == 8)
        let ages = try #require(line["ages"] as? [String: [String: Int]])
        #expect(ages["hour"]?["files"] == 1)
        #expect(ages["month"]?["files"] == 1)
        #expect(ages["older"]?["files"] == 1)
        #expect(try await larder("stat").text.hasPrefix("3 files, "))
        let quick = try last(try await larder("stat", "--json", "--quick"))
        #expect((quick["formats"] as? [String: Any])?.isEmpty == true)
    }

    @Test func `list prints each file that passes the filters`() async throws {
        try layThree()
        func files(_ filters: String...) async throws -> [String] {
            var command = LarderCommand(environment: [
                "LARDER_HOME": directory.file("home"), "LARDER_CACHE": directory.file("cache"),
            ])
            command.arguments = ["cache", "list", "--json"] + filters
            return try await command.run().lines.compactMap { try fields($0)["file"] as? String }.map {
                String($0.prefix(4))
            }.sorted()
        }
        #expect(try await files() == ["0cc1", "4a8a", "92eb"])
        #expect(try await files("--older-than", "7d") == ["4a8a", "92eb"])
        #expect(try await files("--newer-than", "7d") == ["0cc1"])
        #expect(try await files("--format", "png") == ["92eb"])
        #expect(try await files("--smaller-than", "11") == ["4a8a"])
        #expect(try await files("--larger-than", "10") == ["0cc1", "92eb"])
        #expect(try await files("--extension", "jpg") == ["0cc1"])
        let outcome = try await larder("list", "--json", "--extension", "jpg", "--formats")
        let line = try last(outcome)
        #expect(line["path"] as? String == "default/0cc175b9c0f1b6a831c399e269772661.jpg")
        #expect(line["format"] as? String == "jpeg")
        #expect(line["allocated"] != nil)
        #expect(line["bytes"] as? Int == (try TestImage.bytes("plain.jpg").count))
    }

    @Test func `trim deletes files older than a week`() async throws {
        try layThree()
        let dry = try await larder("trim", "--dry-run", "--files", "--json")
        #expect(dry.lines.count == 3)
        #expect(try last(dry)["deleted"] as? Int == 2)
        #expect(try names().count == 3)
        let outcome = try await larder("trim", "--json")
        #expect(outcome.code == 0, "\(outcome.errorText)")
        let line = try last(outcome)
        #expect(line["byAge"] as? Int == 2)
        #expect(line["kept"] as? Int == 1)
        #expect(line["dryRun"] as? Bool == false)
        #expect(try names() == ["0cc175b9c0f1b6a831c399e269772661.jpg"])
        let text = try await larder("trim", "--max-age", "1s", "--expire-by", "modification").text
        #expect(text.hasPrefix("1 of 1 files deleted (1 by age, 0 by size)"))
        #expect(try names().isEmpty)
    }

    @Test func `trim deletes the oldest files until half the limit is free`() async throws {
        for (number, letter) in ["a", "b", "c"].enumerated() { try lay(letter, [1], age: 100 - number) }
        let line = try last(try await larder("trim", "--json", "--max-age", "never", "--max-size", "10000"))
        #expect(line["bySize"] as? Int == 2)
        #expect(try names() == ["c"])
    }

    @Test(arguments: [
        ["trim", "--max-age", "soon"], ["trim", "--max-size", "-1"], ["trim", "--expire-by", "birth"], ["path"],
        ["list", "--older-than", "x"], ["list", "--format", "banana"], ["export"], ["share", "x"],
        ["export", "--batch", "b", "-o", "one.zip"], ["export", "--batch", "b", "-o", "a/one.TAR.GZ/"],
        ["export", "--batch", "b"], ["import"], ["clear", "now"],
        ["nonsense"],
    ])
    func `wrong usage changes nothing`(arguments: [String]) async throws {
        try lay("a", [1], age: 5_000_000)
        var command = LarderCommand(environment: [
            "LARDER_HOME": directory.file("home"), "LARDER_CACHE": directory.file("cache"),
        ])
        command.arguments = ["cache"] + arguments
        let outcome = try await command.run()
        #expect(outcome.code == 2, "\(outcome.text)\(outcome.errorText)")
        #expect(outcome.output.isEmpty, "\(outcome.text)\(outcome.errorText)")
        #expect(try names() == ["a"])
    }

    @Test func `a missing cache is an error`() async throws {
        for command in ["stat", "list", "trim", "verify", "clear", "share"] {
            let outcome = try await larder(command, "--json")
            #expect(outcome.code == 1)
            let error = try #require(try last(outcome)["error"] as? [String: Any])
            #expect(error["code"] as? Int == 2)
            #expect(error["message"] as? String == "there is no cache at \(directory.file("cache"))/default")
        }
        #expect(!FileManager.default.fileExists(atPath: directory.file("cache")))
    }

    @Test func `an unknown format is refused with the list of formats`() async throws {
        try layThree()
        let outcome = try await larder("list", "--format", "banana")
        #expect(outcome.code == 2)
        #expect(outcome.errorText.contains("'banana' is none of jpeg, png, gif, "))
        #expect(try await larder("list", "--format", "unknown").lines.count == 1)
    }

    @Test func `share prints files with the same bytes`() async throws {
        let image = try TestImage.bytes("rgb16.png") + [UInt8](repeating: 0, count: 4096)
        for name in ["a", "b", "c"] { try lay(name, image) }
        let dry = try await larder("share", "--dry-run", "--files", "--json")
        #expect(dry.code == 0, "\(dry.errorText)")
        #expect(dry.lines.count == 3, "\(dry.errorText)")
        let line = try last(dry)
        #expect(line["shared"] as? Int == 2)
        #expect(line["sharedBytes"] as? Int == 2 * image.count)
        #expect(line["dryRun"] as? Bool == true)
        // The file system of the test may not support it.
        let outcome = try await larder("share", "--json")
        if outcome.code == 0 {
            #expect(try last(outcome)["shared"] as? Int == 2)
        } else {
            let error = try #require(try last(outcome)["error"] as? [String: Any])
            #expect((error["message"] as? String)?.contains("share the blocks of") == true, "\(outcome.text)")
        }
        #expect(try names() == ["a", "b", "c"])
    }

    @Test func `verify decodes every file without changing access times`() async throws {
        try layThree()
        let unknown = try await larder("verify", "--json", "--remove", "--yes")
        #expect(unknown.code == 0, "\(unknown.text)")
        #expect(try last(unknown)["unknown"] as? Int == 1)
        try damageThird()
        let outcome = try await larder("verify", "--json")
        #expect(outcome.code == 1, "\(outcome.errorText)")
        #expect(outcome.lines.count == 2)
        let fault = try fields(outcome.lines[0])
        #expect(fault["fault"] as? String == "undecodable")
        #expect(fault["file"] as? String == "4a8a08f09d37b73795649038408b5f33")
        let counts = try last(outcome)
        #expect(counts["decoded"] as? Int == 2)
        #expect(counts["faults"] as? Int == 1)
        #expect(try last(try await larder("trim", "--json", "--dry-run"))["deleted"] as? Int == 2)

        let dry = try await larder("verify", "--json", "--remove", "--dry-run")
        #expect(try last(dry)["removed"] as? Int == 0)
        #expect(try names().count == 3)
        let removed = try await larder("verify", "--json", "--remove", "--yes")
        #expect(removed.code == 1)
        #expect(try last(removed)["removed"] as? Int == 1)
        #expect(try await larder("verify", "--json").code == 0)

        // A file without a cache name is reported and not removed.
        try lay("README.txt", Array("no image".utf8))
        let stray = try await larder("verify", "--json", "--remove", "--yes")
        #expect(try fields(stray.lines[0])["fault"] as? String == "name")
        #expect(try last(stray)["faults"] as? Int == 1)
        #expect(try last(stray)["removed"] as? Int == 0)
        #expect(try names().contains("README.txt"))
    }

    /// A file that no user can open, not even root, under the name of the key `e`: a link to itself.
    private func layUnreadable() throws -> String {
        let name = "e1671797c52e15f763380b45e841ec32"
        try FileManager.default.createSymbolicLink(
            atPath: directory.file("cache/default/" + name), withDestinationPath: name)
        return name
    }

    @Test func `verify --remove deletes what the contents prove, and nothing that it cannot read`() async throws {
        try layThree()
        try damageThird()
        let unreadable = try layUnreadable()
        let outcome = try await larder("verify", "--json", "--remove", "--yes")
        #expect(outcome.code == 1, "\(outcome.errorText)")
        let faults = try outcome.lines.dropLast().map { try fields($0) }
        #expect(Set(faults.compactMap { $0["fault"] as? String }) == ["undecodable", "unreadable"])
        #expect(try last(outcome)["faults"] as? Int == 2)
        #expect(try last(outcome)["removed"] as? Int == 1)
        #expect(try names().count == 3)
        #expect(try names().contains(unreadable))

        let digest = String(repeating: "0", count: 64)
        let line = #"{"key":"e","file":"\#(unreadable)","bytes":1,"sha256":"\#(digest)"}"#
        let manifest = try directory.write(line.utf8, to: "manifest")
        let compared = try await larder("verify", "--json", "--remove", "--yes", "--no-decode", "--manifest", manifest)
        #expect(compared.code == 1, "\(compared.errorText)")
        #expect(try fields(try #require(compared.lines.first))["fault"] as? String == "unreadable")
        #expect(try last(compared)["faults"] as? Int == 1)
        #expect(try last(compared)["removed"] as? Int == 0)
        #expect(try names().contains(unreadable))
    }

    @Test func `copy names what it leaves out or cannot read, and copies the rest`() async throws {
        try layThree()
        let images = try names()
        try lay("README.txt", Array("no image".utf8))
        let place = directory.file("cache/default")
        try FileManager.default.createDirectory(atPath: place + "/sub", withIntermediateDirectories: false)
        try lay("sub/0cc175b9c0f1b6a831c399e269772661", [1])
        let unreadable = try layUnreadable()
        let target = directory.file("copy")
        for (copied, present) in [(3, 0), (0, 3)] {
            let outcome = try await larder("copy", directory.file("cache"), target, "--json")
            #expect(outcome.code == 1, "\(outcome.errorText)")
            let line = try last(outcome)
            #expect(line["copied"] as? Int == copied, "\(outcome.text)")
            #expect(line["present"] as? Int == present, "\(outcome.text)")
            #expect(line["stray"] as? Int == 2, "\(outcome.text)")
            #expect(line["failed"] as? Int == 1, "\(outcome.text)")
            for name in ["README.txt", "sub/0cc175b9c0f1b6a831c399e269772661", unreadable] {
                #expect(outcome.errorText.contains("larder: not copied: \(place)/\(name): "), "\(outcome.errorText)")
            }
        }
        let there = try FileManager.default.contentsOfDirectory(atPath: target + "/default")
        #expect(there.filter { !$0.hasPrefix(".") }.sorted() == images)

        // Strays alone are no failure.
        try FileManager.default.removeItem(atPath: place + "/" + unreadable)
        let outcome = try await larder("copy", directory.file("cache"), target)
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.text.contains("3 were already there; 2 left out, whose name no cache key has"))
    }

    @Test func `clear deletes every image`() async throws {
        try layThree()
        #expect(try last(try await larder("clear", "--json", "--dry-run"))["deleted"] as? Int == 3)
        #expect(try names().count == 3)
        #expect(try last(try await larder("clear", "--yes", "--json"))["deleted"] as? Int == 3)
        #expect(try names().isEmpty)
    }

    @Test func `path and key print where an image lies`() async throws {
        try layThree()
        let outcome = try await larder("path", "a", "http://foo/a.png")
        #expect(outcome.lines[0] == directory.file("cache") + "/default/0cc175b9c0f1b6a831c399e269772661")
        let line = try last(try await larder("path", "--json", "http://foo/a.png"))
        #expect(line["exists"] as? Bool == false)
        let key = try fields(try await LarderCommand("key", "http://foo/a.png").run().lines[0])
        #expect("default/\(try #require(key["file"] as? String))" == line["path"] as? String)
    }
}
