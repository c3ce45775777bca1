import DiskCache
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct `Several caches` {
    private let directory: TemporaryDirectory
    private let low: DiskCache
    private let high: DiskCache
    private let key = CacheKey("http://example.com/image.png")

    init() throws {
        directory = try TemporaryDirectory()
        low = try DiskCache(opening: directory.path + "/low")
        high = try DiskCache(opening: directory.path + "/high")
    }

    private var both: CachesManager { CachesManager([low, high]) }

    @Test func `have SDWebImage's policies`() {
        #expect(CachesManager.Policy.allCases.map(\.rawValue) == [0, 1, 2, 3])
        let manager = CachesManager([])
        #expect(manager.queryPolicy == .serial && manager.storePolicy == .highestOnly)
        #expect(manager.removePolicy == .concurrent && manager.containsPolicy == .serial)
        #expect(manager.clearPolicy == .concurrent)
    }

    @Test func `store in the highest, or where the policy says`() throws {
        var manager = both
        try manager.store([1], as: key)
        #expect(try high.contains(key))
        #expect(try !low.contains(key))
        try manager.clear()
        manager.storePolicy = .lowestOnly
        try manager.store([1], as: key)
        #expect(try low.contains(key))
        #expect(try !high.contains(key))
        for policy in [CachesManager.Policy.serial, .concurrent] {
            try manager.clear()
            #expect(try !manager.contains(key))
            manager.storePolicy = policy
            try manager.store([1], as: key)
            #expect(try low.contains(key))
            #expect(try high.contains(key))
        }
    }

    @Test func `answer with the highest first`() throws {
        try low.store([1], as: key)
        try high.store([2], as: key)
        var manager = both
        #expect(contents(try #require(try manager.read(key))) == [2])
        manager.queryPolicy = .lowestOnly
        #expect(contents(try #require(try manager.read(key))) == [1])
        _ = try high.remove(key)
        manager.queryPolicy = .serial
        #expect(contents(try #require(try manager.read(key))) == [1])
        manager.queryPolicy = .concurrent
        #expect(contents(try #require(try manager.read(key))) == [1])
        manager.queryPolicy = .highestOnly
        #expect(try manager.read(key) == nil)
        manager.containsPolicy = .highestOnly
        manager.clearPolicy = .serial
        #expect(try !manager.contains(key), "by its own policy, not by that of clearing")
    }

    @Test func `answer though one of them fails`() throws {
        let path = high.layout.path(of: key)
        #expect(symlink(path, path) == 0, "a file that cannot be opened")
        var manager = both
        for policy in [CachesManager.Policy.serial, .concurrent] {
            manager.queryPolicy = policy
            manager.containsPolicy = policy
            #expect(code { _ = try manager.read(key) } == .notADirectory, "there is no answer")
            #expect(code { _ = try manager.contains(key) } == .notADirectory)
            try low.store([1], as: key)
            #expect(contents(try #require(try manager.read(key))) == [1])
            #expect(try manager.contains(key))
            _ = try low.remove(key)
        }
        manager.queryPolicy = .highestOnly
        try low.store([1], as: key)
        #expect(code { _ = try manager.read(key) } == .notADirectory, "nobody else is asked")
    }

    @Test func `are all rid of a picture`() throws {
        try low.store([1], as: key)
        try high.store([2], as: key)
        var manager = both
        #expect(try manager.remove(key))
        #expect(try !low.contains(key))
        #expect(try !high.contains(key))
        #expect(try !manager.remove(key))
        try low.store([1], as: key)
        manager.removePolicy = .highestOnly
        #expect(try !manager.remove(key))
        #expect(try low.contains(key))
    }

    @Test func `fail with the failure of one, after the others`() throws {
        try FileManager.default.createDirectory(atPath: high.layout.path(of: key), withIntermediateDirectories: false)
        var manager = both
        manager.storePolicy = .serial
        #expect(code { try manager.store([1], as: key) } == .isADirectory)
        #expect(try low.contains(key))
    }

    @Test func `are nothing when there are none, and one when there is one`() throws {
        let none = CachesManager([])
        try none.store([1], as: key)
        #expect(try none.read(key) == nil)
        #expect(try !none.contains(key))
        #expect(try !none.remove(key))
        try none.clear()
        for policy in CachesManager.Policy.allCases {
            var one = CachesManager([low])
            one.storePolicy = policy
            one.queryPolicy = policy
            try one.store([1], as: key)
            #expect(try one.read(key) != nil)
            #expect(try one.remove(key))
        }
    }
}
