import Foundation
import Testing

@testable import DiskCache

@Suite(.timeLimit(.minutes(5)))
struct BundleTests {
    private let directory: TemporaryDirectory
    private let source: DirectoryStore
    private let export: BundleExport

    init() throws {
        directory = try TemporaryDirectory()
        source = try DirectoryStore(opening: directory.path + "/source")
        export = BundleExport(source)
    }

    /// Names of all kinds, one longer than a plain tar header allows, one not in ASCII.
    private let keys = [
        "http://foo/a.png", "http://foo/b", "http://foo/c.000000},2)",
        "http://foo/d." + String(repeating: "é", count: 111),
        "http://foo/e." + String(repeating: "x", count: 200),
    ].map(CacheKey.init)

    private func entries() throws -> [ManifestEntry] {
        for key in keys { try source.store(String(repeating: key.text, count: 10_000), as: key) }
        return try keys.compactMap { try export.entry(for: $0, format: "png", width: 1, height: 2) }
    }

    private func archive(_ entries: [ManifestEntry], _ name: String = "a.tar.zst") throws -> String {
        let path = directory.path + "/" + name
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o644)
        defer { close(descriptor) }
        try export.write(entries, to: descriptor, path: path)
        return path
    }

    @Test func `has the same bytes for the same files in any order`() throws {
        let entries = try entries()
        let first = try archive(entries, "1.tar.zst")
        for key in keys { _ = try source.open(key) }
        let second = try archive(entries.reversed() + entries, "2.tar.zst")
        #expect(try Data(contentsOf: URL(filePath: first)) == Data(contentsOf: URL(filePath: second)))
        try export.write(entries, toDirectory: directory.path + "/1")
        try export.write(entries.reversed(), toDirectory: directory.path + "/2")
        let diff = run("diff", "-r", directory.path + "/1", directory.path + "/2")
        #expect(diff == 0)
    }

    @Test func `is a read-only cache for an app`() throws {
        try export.write(try entries(), toDirectory: directory.path + "/bundle")
        #expect(try directory.names(in: "bundle") == ["default", "manifest.jsonl"])
        let app = try DirectoryStore(
            opening: directory.path + "/app", fallbacks: [DirectoryStore(CacheLayout(root: directory.path + "/bundle"))]
        )
        for key in keys { #expect(try app.open(key)?.size == 10_000 * key.text.utf8.count) }
        #expect(status(directory.path + "/bundle/manifest.jsonl").st_mtim.tv_sec == 0)
        #expect(code { try export.write([], toDirectory: directory.path + "/bundle") } == .exists)
        try Data().write(to: directory.url.appending(path: "file"))
        for end in ["", "/", "//"] {
            #expect(code { try export.write([], toDirectory: directory.path + "/file" + end) } == .exists)
        }
    }

    @Test(.enabled(if: run("zstd", "--version") == 0, "needs zstd, which tar calls"))
    func `can be unpacked with tar and zstd`() throws {
        let archive = try archive(try entries())
        let target = directory.path + "/unpacked"
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
        #expect(run("tar", "--zstd", "-xf", archive, "-C", target) == 0)
        #expect(try directory.names(in: "unpacked/default") == keys.map(\.fileName).sorted())
    }

    @Test(arguments: [true, false])
    func `is imported with equal contents`(asArchive: Bool) throws {
        let entries = try entries()
        let bundle = asArchive ? try archive(entries) : directory.path + "/bundle"
        if !asArchive { try export.write(entries, toDirectory: bundle) }
        let cache = try DirectoryStore(opening: directory.path + "/other")
        try cache.store("another image", as: keys[0])
        try cache.store(String(repeating: keys[1].text, count: 10_000), as: keys[1])
        var calls = 0
        let careful = try BundleImport(into: cache).run(bundle) { calls += 1 }
        #expect(careful.stored == 3)
        #expect(careful.present == 1)
        #expect(careful.kept == 1)
        #expect(calls == 5)
        #expect(try cache.fault(of: entries[0]) == .length)
        let report = try BundleImport(into: cache, replacing: true).run(bundle)
        #expect(report.stored == 1)
        #expect(report.present == 4)
        #expect(report.kept == 0)
        for entry in entries { #expect(try cache.fault(of: entry) == nil) }
        #expect(try directory.names(in: "other/default") == keys.map(\.fileName).sorted())
        #expect(try BundleImport(into: cache).run(bundle).present == 5)
    }

    @Test func `is refused when its files differ from its manifest`() throws {
        let entries = try entries()
        let cache = try DirectoryStore(opening: directory.path + "/other")
        func refused(_ name: String, _ spoil: (String) throws -> Void) throws {
            let bundle = directory.path + "/" + name
            try export.write(entries, toDirectory: bundle)
            try spoil(bundle)
            #expect(code { _ = try BundleImport(into: cache).run(bundle) } == .damaged, "\(name)")
        }
        try refused("lacking") { try FileManager.default.removeItem(atPath: $0 + "/default/" + keys[2].fileName) }
        try refused("longer") { try append("x", to: $0 + "/default/" + keys[2].fileName) }
        try refused("unknown") { try append("x", to: $0 + "/default/foreign") }
        try refused("nested") {
            try FileManager.default.createDirectory(atPath: $0 + "/default/sub", withIntermediateDirectories: false)
        }
        try refused("linked") {
            let path = $0 + "/default/" + keys[2].fileName
            try FileManager.default.moveItem(atPath: path, toPath: $0 + ".secret")
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: $0 + ".secret")
        }
        try refused("no digest") {
            let line = ManifestEntry(key: keys[0], bytes: 1, sha256: "12").line
            try append(line + "\n", to: $0 + "/manifest.jsonl")
        }
        try refused("changed") {
            let path = $0 + "/default/" + keys[2].fileName
            var data = try Data(contentsOf: URL(filePath: path))
            data[5] ^= 1
            try data.write(to: URL(filePath: path))
        }
        try refused("no manifest") { try FileManager.default.removeItem(atPath: $0 + "/manifest.jsonl") }
        try refused("bad manifest") { try append("{}\n", to: $0 + "/manifest.jsonl") }
        try refused("foreign name") {
            try append(#"{"key":"a","file":"../../a","bytes":1,"sha256":""}"# + "\n", to: $0 + "/manifest.jsonl")
        }
        #expect(try !cache.contains(keys[2]), "the faulty file was not committed")
        #expect(try directory.names(in: "other/default").allSatisfy { !$0.hasPrefix(".") })
    }

    @Test func `is refused when the archive is invalid or truncated`() throws {
        let whole = try Data(contentsOf: URL(filePath: try archive(try entries())))
        let cache = try DirectoryStore(opening: directory.path + "/other")
        let path = directory.path + "/cut"
        for length in [0, 1, 10, whole.count / 2, whole.count - 1] {
            try whole.prefix(length).write(to: URL(filePath: path))
            #expect(code { _ = try BundleImport(into: cache).run(path) } == .damaged, "\(length)")
        }
        try Data("text".utf8).write(to: URL(filePath: path))
        #expect(code { _ = try BundleImport(into: cache).run(path) } == .damaged)
        #expect(code { _ = try BundleImport(into: cache).run(directory.path + "/none") } == .missing)
        #expect(try directory.names(in: "other/default").allSatisfy { !$0.hasPrefix(".") })
    }

    @Test func `cannot write outside the cache`() throws {
        let cache = try DirectoryStore(opening: directory.path + "/other")
        try FileManager.default.createDirectory(atPath: directory.path + "/evil", withIntermediateDirectories: false)
        try Data().write(to: URL(filePath: directory.path + "/evil/manifest.jsonl"))
        try Data("x".utf8).write(to: URL(filePath: directory.path + "/outside"))
        let archive = directory.path + "/evil.tar"
        #expect(
            run("tar", "-P", "-C", directory.path + "/evil", "-cf", archive, "manifest.jsonl", "../outside") == 0)
        #expect(code { _ = try BundleImport(into: cache).run(archive) } == .damaged)
        #expect(try directory.names(in: "other") == [".larder-cache-id", "default"])
    }

    @Test func `is not written when a file has changed`() throws {
        let entries = try entries()
        try source.store("changed", as: keys[3])
        #expect(code { try export.write(entries, toDirectory: directory.path + "/bundle") } == .damaged)
        #expect(try directory.names() == ["source"], "no incomplete directory is left")
        #expect(try export.entry(for: CacheKey("none")) == nil)
    }

    @Test func `only what the contents prove is a fault of the contents, and a failed read proves nothing`() {
        #expect(FileFault.allCases.filter(\.isOfContents) == [.empty, .length, .digest, .undecodable])
        #expect(FileFault(reading: StoreError(.damaged, "use", "a")) == .digest)
        for code in [StoreError.Code.unreachable, .permission, .missing, .machine, .clockSkewed, .inputOutput] {
            #expect(FileFault(reading: StoreError(code, "download", "a")) == .unreadable, "\(code)")
        }
        for number in [EMFILE, ENOSPC, EACCES, EIO, ELOOP] {
            #expect(FileFault(reading: StoreError("open", "a", number: number)) == .unreadable, "\(number)")
        }
        #expect(FileFault(reading: CancellationError()) == .unreadable)
    }

    @Test func `can be written to a path with trailing slashes`() throws {
        try export.write(try entries(), toDirectory: directory.path + "/bundle//")
        #expect(try directory.names(in: "bundle") == ["default", "manifest.jsonl"])
        #expect(try directory.names() == ["bundle", "source"])
    }

    @Test func `deletes the directories that killed exports left next to it`() throws {
        let this = TemporaryName.Writer.this
        let place = ".larder-bundle.\(this.boot).\(this.namespace).\(this.process)"
        let dead = "\(place).\(this.startTime + 1).ff"
        let alive = "\(place).\(this.startTime).ff"
        let files = FileManager.default
        for draft in [dead, alive] {
            try files.createDirectory(
                atPath: directory.path + "/" + draft + "/default", withIntermediateDirectories: true)
            try append("half", to: directory.path + "/" + draft + "/default/a")
            try append("half", to: directory.path + "/" + draft + "/manifest.jsonl")
        }
        // Symbolic links are not followed.
        let linked = "\(place).\(this.startTime + 2).ff"
        try files.createDirectory(atPath: directory.path + "/" + linked, withIntermediateDirectories: false)
        #expect(symlink(source.layout.directory, directory.path + "/" + linked + "/default") == 0)
        let entries = try entries()
        try export.write(entries, toDirectory: directory.path + "/bundle")
        #expect(try directory.names() == [alive, linked, "bundle", "source"].sorted())
        #expect(try directory.names(in: "source/default").count == keys.count)
    }

    @Test(arguments: [1, 7, 100, 1 << 20])
    func `has a manifest that can be read in blocks of any size`(length: Int) throws {
        let entries = try entries()
        let text = Array(entries.map(\.line).joined(separator: "\n\n").utf8)
        var contents = Manifest("x")
        for start in stride(from: 0, to: text.count, by: length) {
            try Array(text[start..<min(text.count, start + length)]).withUnsafeBytes { try contents.add($0) }
        }
        try contents.finish()
        #expect(contents.count == keys.count)
        #expect(contents.contains(keys[0].fileName))
        #expect(!contents.contains("other"))
        for entry in entries {
            let taken = contents.remove(entry.file)
            let wanted = try #require(taken)
            #expect(wanted.name == entry.file)
            #expect(wanted.bytes == entry.bytes)
            #expect(wanted.sha256 == entry.sha256)
            let again = contents.remove(entry.file)
            #expect(again == nil)
        }
    }

    @Test func `is refused before it has expanded to much more than an archive of images`() throws {
        let key = CacheKey("http://foo/bomb"), size = 200 << 20
        let entry = ManifestEntry(key: key, bytes: size, sha256: String(repeating: "0", count: 64))
        try Data((entry.line + "\n").utf8).write(to: directory.url.appending(path: "manifest.jsonl"))
        try FileManager.default.createDirectory(
            at: directory.url.appending(path: "default"), withIntermediateDirectories: false)
        let zeros = directory.path + "/default/" + entry.file
        try Data().write(to: URL(filePath: zeros))
        truncate(zeros, off_t(size))
        let path = directory.path + "/bomb.tar.zst"
        #expect(run("tar", "-C", directory.path, "--zstd", "-cf", path, "manifest.jsonl", "default/" + entry.file) == 0)
        let store = try DirectoryStore(opening: directory.path + "/empty")
        #expect(code { _ = try BundleImport(into: store).run(path) } == .tooLarge)
        #expect(try store.open(key) == nil)
    }

    @Test func `is refused with the limit when its manifest is too long`() throws {
        let line = try #require(try entries().first).line + "\n"
        let length = line.utf8.count
        var long = Manifest("x", maxSize: length)
        try Array(line.utf8).withUnsafeBytes { try long.add($0) }
        let whole = #expect(throws: StoreError.self) { try [UInt8(10)].withUnsafeBytes { try long.add($0) } }
        #expect(whole?.code == .tooLarge)
        #expect(whole?.description.contains("more than \(length) bytes") == true)
        var wide = Manifest("x", maxLineLength: length - 2)
        let part = #expect(throws: StoreError.self) { try Array(line.utf8).withUnsafeBytes { try wide.add($0) } }
        #expect(part?.code == .tooLarge)
        #expect(part?.description.contains("more than \(length - 2) bytes") == true)
    }

    private func append(_ text: String, to path: String) throws {
        if !FileManager.default.fileExists(atPath: path) { try Data().write(to: URL(filePath: path)) }
        let handle = try FileHandle(forWritingTo: URL(filePath: path))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(text.utf8))
    }
}

/// The exit code of a command found in PATH.
@discardableResult
private func run(_ words: String...) -> Int32 {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    do { try process.run() } catch { return -1 }
    process.waitUntilExit()
    return process.terminationStatus
}
