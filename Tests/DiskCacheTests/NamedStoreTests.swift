import Foundation
import Testing

@testable import DiskCache

/// Stores and bundles in the namings of Kingfisher and Nuke, read as the libraries read them.
@Suite(.timeLimit(.minutes(5)))
struct NamedStoreTests {
    private let directory: TemporaryDirectory
    private let key = CacheKey("https://example.com/a.jpg")

    init() throws { directory = try TemporaryDirectory() }

    private func modified(_ path: String) -> Int { status(directory.path + "/" + path).st_mtim.tv_sec }

    @Test(arguments: ["kingfisher", "nuke"])
    func `a store in a naming is listed and expired as any other`(_ name: String) throws {
        let naming = try #require(CacheNamings.named(name))
        let store = try DirectoryStore(opening: directory.path, naming: naming)
        try store.store("an image", as: key)
        let path = "\(naming.directory(of: "default"))/\(naming.fileName(of: key))"
        #expect(store.relativePath(of: key) == path)
        #expect(try store.open(key)?.size == 8)
        // Kingfisher takes a past modification date for expired.
        #expect((modified(path) > Timestamp.now.seconds + 86_400 * 365) == (name == "kingfisher"))
        var names: [String] = []
        try store.list { entry in
            names.append(entry.path)
            return true
        }
        #expect(names == [naming.fileName(of: key)])
        let policy = ExpiryPolicy(maxAge: .seconds(60))
        #expect(try store.expire(policy, now: .now, isDryRun: true).kept.files == 1)
    }

    @Test func `Kingfisher's modification date is when a file expires, whatever the age is`() throws {
        let store = try DirectoryStore(opening: directory.path, naming: KingfisherNaming())
        let now = Timestamp.now
        for (url, date) in [("https://a/past", now.seconds - 1), ("https://a/future", now.seconds + 86_400)] {
            let key = CacheKey(url)
            try store.store("an image", as: key)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: Double(date))],
                ofItemAtPath: directory.path + "/" + store.relativePath(of: key))
        }
        try store.store("an image", as: key)
        func expired(_ age: Duration?) throws -> Int {
            let policy = ExpiryPolicy(maxAge: age, date: .modification, sparing: .zero)
            return try store.expire(policy, now: now, isDryRun: true).expiredByAge.files
        }
        #expect(try expired(.seconds(60)) == 1)
        #expect(try expired(.zero) == 1)
        #expect(try expired(.seconds(1 << 30)) == 1)
        #expect(try expired(nil) == 0)
    }

    @Test(arguments: ["kingfisher", "nuke"])
    func `a bundle in another naming has its directory, names and dates, and can be imported`(_ name: String) throws {
        let naming = try #require(CacheNamings.named(name))
        let source = try DirectoryStore(opening: directory.path + "/source")
        try source.store("an image", as: key)
        let export = BundleExport(source, naming: naming)
        let entry = try #require(try export.entry(for: key))
        let renamed = ManifestEntry(key: key, naming: naming, bytes: entry.bytes, sha256: entry.sha256)
        let sources = [renamed.file: entry.file]
        try export.write([renamed], from: sources, toDirectory: directory.path + "/bundle")
        let inside = naming.directory(of: "default")
        #expect(try directory.names(in: "bundle").sorted() == [inside, "manifest.jsonl"].sorted())
        #expect(try directory.names(in: "bundle/" + inside) == [naming.fileName(of: key)])
        let date = modified("bundle/\(inside)/\(renamed.file)")
        #expect(date == (name == "kingfisher" ? 4_102_444_800 : 0))

        let archive = directory.path + "/bundle.tzst"
        let descriptor = open(archive, O_WRONLY | O_CREAT | O_EXCL, 0o644)
        defer { close(descriptor) }
        try export.write([renamed], from: sources, to: descriptor, path: archive)
        for (index, bundle) in [archive, directory.path + "/bundle"].enumerated() {
            let other = try DirectoryStore(opening: directory.path + "/other\(index)", naming: naming)
            #expect(try BundleImport(into: other).run(bundle).stored == 1)
            #expect(try other.open(key)?.bytes(8) == Array("an image".utf8))
        }
    }
}
