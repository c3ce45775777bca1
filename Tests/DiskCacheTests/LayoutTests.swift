import Foundation
import Testing

@testable import DiskCache

/// A cache written by an app, and the options of a store.
@Suite(.timeLimit(.minutes(5)))
struct LayoutTests {
    private let directory: TemporaryDirectory
    private let key = CacheKey("http://example.com/image.png")
    private let past = timespec(tv_sec: 1_000_000_000, tv_nsec: 0)

    init() throws { directory = try TemporaryDirectory() }

    @Test func `is read, extended and expired`() throws {
        // Written by hand from the specification, sections 4.1 and 4.2.
        let files = [
            "e9936aba8d7f7fcca7813d72290de957.jpg": "https://placehold.co/50x50.jpg",
            "e71fc3239f5147046b9e7f07ad7e7d61":
                "https://maps.googleapis.com/maps/api/staticmap?center=48.8566,2.3522&format=png&maptype=roadmap&scale=2&size=375x200&zoom=15",
            "0cc175b9c0f1b6a831c399e269772661": "a",
        ]
        let place = directory.path + "/default"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        for (name, key) in files {
            try Data(key.utf8).write(to: URL(filePath: place + "/" + name))
            #expect(utimensat(AT_FDCWD, place + "/" + name, [past, past], 0) == 0)
        }
        let cache = try DirectoryStore(opening: directory.path)
        let read = "https://placehold.co/50x50.jpg"
        #expect(contents(try #require(try cache.open(CacheKey(read)))) == Array(read.utf8))
        for key in files.values { #expect(try cache.contains(CacheKey(key))) }

        try cache.store("new", as: key)
        _ = try cache.expire(ExpiryPolicy(sparing: .zero))
        #expect(try directory.names(in: "default") == [CacheKey(read), key].map(\.fileName).sorted())
    }

    @Test func `is read as a fallback and never changed`() throws {
        let shipped = try DirectoryStore(opening: directory.path + "/shipped")
        let second = try DirectoryStore(opening: directory.path + "/second", namespace: "other")
        try shipped.store("shipped", as: key)
        try second.store("second", as: key)
        try second.store("only", as: CacheKey("only"))
        let path = shipped.layout.path(of: key)
        #expect(utimensat(AT_FDCWD, path, [past, past], 0) == 0)

        let cache = try DirectoryStore(
            opening: directory.path + "/own", fallbacks: [shipped, second])
        #expect(contents(try #require(try cache.open(key))) == Array("shipped".utf8))
        #expect(status(path).st_atim.tv_sec == 1_000_000_000, "fallbacks keep their access times")
        #expect(contents(try #require(try cache.open(CacheKey("only")))) == Array("only".utf8))
        #expect(try !cache.contains(key), "contains ignores fallbacks")
        #expect(try !cache.remove(key))
        try cache.store("own", as: key)
        #expect(contents(try #require(try cache.open(key))) == Array("own".utf8))
        #expect(contents(try #require(try shipped.open(key))) == Array("shipped".utf8))
        #expect(try cache.open(CacheKey("none")) == nil)
    }

    @Test func `of a version before 5_0 is adopted`() throws {
        let cache = try DirectoryStore(opening: directory.path + "/com.hackemist.SDImageCache")
        let old = directory.path + "/default/com.hackemist.SDWebImageCache.default"
        try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: true)
        for number in 0..<100 {
            try Data("\(number)".utf8).write(to: URL(filePath: old + "/" + CacheKey("\(number)").fileName))
        }
        #expect(try cache.adopt(old) == DirectoryStore.Adoption(moved: 100, left: 0))
        #expect(!FileManager.default.fileExists(atPath: old))
        #expect(contents(try #require(try cache.open(CacheKey("42")))) == Array("42".utf8))
        #expect(code { _ = try cache.adopt(old) } == .missing)

        try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: true)
        try Data("older".utf8).write(to: URL(filePath: old + "/" + CacheKey("42").fileName))
        #expect(try cache.adopt(old) == DirectoryStore.Adoption(moved: 0, left: 1))
        #expect(contents(try #require(try cache.open(CacheKey("42")))) == Array("42".utf8))
        #expect(
            try directory.names(in: "default/com.hackemist.SDWebImageCache.default").count == 1, "the old file remains")
    }

    @Test func `is counted as SDWebImage counts it`() throws {
        let cache = try DirectoryStore(opening: directory.path)
        try cache.store("12345", as: key)
        let sub = cache.layout.directory + "/sub"
        try FileManager.default.createDirectory(atPath: sub, withIntermediateDirectories: false)
        try Data("123".utf8).write(to: URL(filePath: sub + "/.hidden"))
        let usage = try CacheUsage(of: cache)
        #expect(usage.bytes == 8)
        #expect(usage.entries == 3, "includes the directory and the hidden file")
        #expect(usage.files == 1)
        #expect(
            code { _ = try CacheUsage(of: DirectoryStore(CacheLayout(root: directory.path, namespace: "none"))) }
                == .missing)
    }

    @Test func `gets the requested permissions regardless of the umask`() throws {
        let permissions = FilePermissions(fileMode: 0o666, directoryMode: 0o2777, group: getgid())
        let cache = try DirectoryStore(opening: directory.path + "/a/b", permissions: permissions)
        try cache.store("image", as: key)
        #expect(status(cache.layout.path(of: key)).st_mode & 0o7777 == 0o666)
        for path in ["/a", "/a/b", "/a/b/default"] {
            #expect(status(directory.path + path).st_mode & 0o7777 == 0o2777)
        }
        #expect(status(directory.path + "/a/b/.larder-cache-id").st_mode & 0o7777 == 0o666)
        for mark in [directory.path + "/a/b/.larder-swept.default", try #require(cache.openMarker).path] {
            #expect(status(mark).st_mode & 0o7777 == 0o666, "\(mark)")
        }
    }

    @Test(.enabled(if: getuid() == 0, "only root can give files away"))
    func `belongs to the requested user and group`() throws {
        let cache = try DirectoryStore(
            opening: directory.path + "/a", permissions: FilePermissions(fileMode: 0o640, user: 65_534, group: 65_533))
        try cache.store("image", as: key)
        let file = status(cache.layout.path(of: key))
        #expect(file.st_uid == 65_534)
        #expect(file.st_gid == 65_533)
        #expect(file.st_mode & 0o7777 == 0o640)
        #expect(status(cache.layout.directory).st_uid == 65_534)
    }

    @Test(.enabled(if: getuid() != 0, "root may give files away"))
    func `can be given to another user only by root`() throws {
        let permissions = FilePermissions(user: 0)
        #expect(
            code { _ = try DirectoryStore(opening: directory.path + "/a", permissions: permissions) } == .permission)
    }
}
