import DiskCache
import Foundation
import Prefetcher
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CachesManagerTests {
    private let directory: TemporaryDirectory
    private let low: DirectoryStore
    private let high: DirectoryStore
    private let key = CacheKey("http://example.com/image.png")

    init() throws {
        directory = try TemporaryDirectory()
        low = try DirectoryStore(opening: directory.path + "/low")
        high = try DirectoryStore(opening: directory.path + "/high")
    }

    private var both: CachesManager { CachesManager([low, high]) }

    @Test func `has SDWebImage's policies`() {
        #expect(CachesManager.Policy.allCases.map(\.rawValue) == [0, 1, 2, 3])
        let manager = CachesManager([])
        #expect(manager.queryPolicy == .serial)
        #expect(manager.storePolicy == .highestOnly)
        #expect(manager.removePolicy == .concurrent)
        #expect(manager.containsPolicy == .serial)
        #expect(manager.clearPolicy == .concurrent)
    }

    @Test func `stores in the cache with the highest priority or as the policy says`() throws {
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

    @Test func `queries the cache with the highest priority first`() throws {
        try low.store([1], as: key)
        try high.store([2], as: key)
        var manager = both
        #expect(contents(try #require(try manager.open(key))) == [2])
        manager.queryPolicy = .lowestOnly
        #expect(contents(try #require(try manager.open(key))) == [1])
        _ = try high.remove(key)
        manager.queryPolicy = .serial
        #expect(contents(try #require(try manager.open(key))) == [1])
        manager.queryPolicy = .concurrent
        #expect(contents(try #require(try manager.open(key))) == [1])
        manager.queryPolicy = .highestOnly
        #expect(try manager.open(key) == nil)
        manager.containsPolicy = .highestOnly
        manager.clearPolicy = .serial
        #expect(try !manager.contains(key), "by containsPolicy, not by clearPolicy")
    }

    @Test func `skips a cache that fails`() throws {
        let path = high.layout.path(of: key)
        #expect(symlink(path, path) == 0, "a file that cannot be opened")
        var manager = both
        for policy in [CachesManager.Policy.serial, .concurrent] {
            manager.queryPolicy = policy
            manager.containsPolicy = policy
            #expect(code { _ = try manager.open(key) } == .notADirectory, "no cache has it")
            #expect(code { _ = try manager.contains(key) } == .notADirectory)
            try low.store([1], as: key)
            #expect(contents(try #require(try manager.open(key))) == [1])
            #expect(try manager.contains(key))
            _ = try low.remove(key)
        }
        manager.queryPolicy = .highestOnly
        try low.store([1], as: key)
        #expect(code { _ = try manager.open(key) } == .notADirectory, "no other cache is queried")
    }

    @Test func `removes an image from all caches`() throws {
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

    @Test func `reports a failure after calling all caches`() throws {
        try FileManager.default.createDirectory(atPath: high.layout.path(of: key), withIntermediateDirectories: false)
        var manager = both
        manager.storePolicy = .serial
        #expect(code { try manager.store([1], as: key) } == .isADirectory)
        #expect(try low.contains(key))
    }

    @Test func `does nothing without caches and uses a single one with any policy`() throws {
        let none = CachesManager([])
        try none.store([1], as: key)
        #expect(try none.open(key) == nil)
        #expect(try !none.contains(key))
        #expect(try !none.remove(key))
        try none.clear()
        for policy in CachesManager.Policy.allCases {
            var one = CachesManager([low])
            one.storePolicy = policy
            one.queryPolicy = policy
            try one.store([1], as: key)
            #expect(try one.open(key) != nil)
            #expect(try one.remove(key))
        }
    }
}

/// Everything in an open file.
private func contents(_ file: OpenFile) -> [UInt8] { (try? file.bytes(file.size)) ?? [] }

/// The code of the store error that `body` throws; nil when it throws none.
private func code(_ body: () throws -> Void) -> StoreError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? StoreError)?.code
    }
}
