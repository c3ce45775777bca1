import Concurrency
import DiskCache
import Downloader
import Foundation
import ImageModel
import ObjectStore
import TestSupport
import Testing

/// The store against moto.
@Suite(.enabled(if: MotoServer.isEnabled, "make object-stores"), .timeLimit(.minutes(5)))
struct S3StoreTests {
    private let key = CacheKey("http://example.com/image.png")
    private let name = SDWebImageNaming().fileName(of: CacheKey("http://example.com/image.png"))

    @Test func `one worker reads what another stored`() async throws {
        let bucket = try await Bucket()
        let image = try TestImage.bytes("plain.jpg")
        let (writer, reader) = (try bucket.store(), try bucket.store(local: "other"))
        let key = key
        try await blocking {
            let file = try writer.begin()
            try file.write(image)
            try file.setAttribute("larder.validators", Array("{}".utf8))
            try file.setExtendedData([1, 2])
            try writer.commit(file, as: key)
        }
        let head = try #require(try await bucket.client().head("images/default/\(name)"))
        #expect(head.size == image.count)
        #expect(head.metadata["sha256"] == SHA256Digest.hex(of: image))
        try await blocking {
            let file = try #require(try reader.open(key))
            #expect(try file.bytes(file.size) == image)
            #expect(try file.attribute("larder.validators") == Array("{}".utf8))
            #expect(try reader.extendedData(for: key) == [1, 2])
            #expect(try reader.count() == 1)
            #expect(try reader.contains(key))
            #expect(try reader.use(key) == image.count)
            #expect(try reader.remove(key))
            #expect(try !reader.contains(key))
            #expect(try !reader.remove(key))
        }
        #expect(try await bucket.client().head("images/default/\(name)") == nil)
    }

    @Test func `publishes nothing that is not permitted, also of a large file`() async throws {
        let bucket = try await Bucket()
        var options = S3Store.Options()
        options.partThreshold = 1 << 20
        options.partSize = 5 << 20
        let store = try bucket.store(options)
        let key = key
        try await blocking {
            for size in [10, 6 << 20] {
                let file = try store.begin()
                try file.write([UInt8](repeating: 1, count: size))
                #expect(try !store.commit(file, as: key) { false })
                #expect(try store.open(key) == nil)
                #expect(try store.count() == 0)
            }
            let file = try store.begin()
            try file.write([UInt8](repeating: 1, count: 6 << 20))
            #expect(try store.commit(file, as: key))
            #expect(try store.open(key)?.size == 6 << 20)
        }
        #expect(try await bucket.requests().filter { $0.hasPrefix("DELETE") }.count == 1)
    }

    @Test func `a new image with three variants costs four requests after one listing`() async throws {
        let bucket = try await Bucket()
        let store = try bucket.store()
        try await blocking {
            let keys = (0..<4).map { CacheKey("http://example.com/\($0).png") }
            for key in keys { #expect(try store.use(key) == nil) }
            for key in keys { try store.store([1], as: key) }
            for key in keys { #expect(try store.use(key) == 1) }
        }
        let requests = try await bucket.requests().dropFirst()
        #expect(requests.map { $0.prefix(4) } == ["GET ", "PUT ", "PUT ", "PUT ", "PUT "], "\(requests)")
    }

    @Test func `a worker replaces an older image, and none that it has not seen`() async throws {
        let bucket = try await Bucket()
        let (one, two) = (try bucket.store(), try bucket.store(local: "other"))
        let key = key
        try await blocking {
            try one.store([1], as: key)
            try two.store([2], as: key)
            // The lease is lost while the first upload is refused.
            let file = try one.begin()
            try file.write([3])
            let asked = Locked(0)
            let isPublished = try one.commit(file, as: key) {
                asked.withLock { count in
                    count += 1
                    return count == 1
                }
            }
            #expect(!isPublished)
            #expect(asked.withLock { $0 } == 2)
            let fresh = try bucket.store(local: "third")
            #expect(try fresh.open(key)?.bytes(9) == [2])
        }
    }

    @Test func `of many workers that store the same name one image remains, whole`() async throws {
        let bucket = try await Bucket()
        let key = key
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<6 {
                let store = try bucket.store(local: "local\(number)")
                group.addTask {
                    try await blocking { try store.store([UInt8](repeating: UInt8(number), count: 1000), as: key) }
                }
            }
            try await group.waitForAll()
        }
        let reader = try bucket.store(local: "reader")
        let bytes = try await blocking { try reader.open(key)?.bytes(2000) }
        #expect(bytes?.count == 1000)
        #expect(Set(bytes ?? []).count == 1)
    }

    @Test(arguments: ["slow down", "reset", "lost answer", "bad digest"])
    func `an image is stored in spite of`(fault: String) async throws {
        let bucket = try await Bucket()
        let store = try bucket.store()
        let key = key
        try await bucket.inject(fault)
        try await blocking { try store.store([1, 2, 3], as: key) }
        #expect(try await bucket.client().head("images/default/\(name)")?.size == 3)
    }

    @Test func `without If-Match the last worker wins`() async throws {
        let bucket = try await Bucket()
        let (one, two) = (try bucket.store(), try bucket.store(local: "other"))
        let key = key
        try await blocking { try one.store([1], as: key) }
        // The conditional upload is refused, the object is looked up, the second condition is not offered.
        try await bucket.inject(nil, nil, "not implemented")
        try await blocking { try two.store([2], as: key) }
        let reader = try bucket.store(local: "reader")
        #expect(try await blocking { try reader.open(key)?.bytes(9) } == [2])
    }

    @Test(arguments: ["skew", "denied"]) func `the worker's own faults are local`(fault: String) async throws {
        let bucket = try await Bucket()
        let store = try bucket.store()
        let key = key
        try await bucket.inject(fault)
        await #expect { try await blocking { try store.store([1], as: key) } } throws: { error in
            (error as? StoreError)?.isLocal == true
        }
        try await bucket.inject("slow down", "slow down", "slow down", "slow down", "slow down")
        await #expect { try await blocking { try store.store([1], as: key) } } throws: { error in
            (error as? StoreError)?.isLocal == false && (error as? StoreError)?.code == .unreachable
        }
    }

    @Test func `an object whose bytes differ from its digest is not used`() async throws {
        let bucket = try await Bucket()
        let (store, client) = (try bucket.store(), try bucket.client())
        let file = try bucket.file([1, 2])
        try await client.put(
            .init(of: file.descriptor, count: 2), sha256: SHA256Digest.hex(of: [1, 2]), as: "images/default/\(name)",
            headers: [.init("x-amz-meta-sha256", SHA256Digest.hex(of: [9]))])
        let key = key
        await #expect { try await blocking { try store.open(key) } } throws: { ($0 as? StoreError)?.code == .damaged }
    }

    @Test func `all processes read one cache id`() async throws {
        let bucket = try await Bucket()
        let ids = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<4 {
                let store = try bucket.store(local: "local\(number)")
                group.addTask { try await blocking { try store.cacheID } }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
        #expect(ids.first?.count == 36)
    }

    @Test func `clears the bucket and the local directory, and expires nothing itself`() async throws {
        let bucket = try await Bucket()
        let store = try bucket.store()
        let key = key
        try await blocking {
            try store.store([1, 2], as: key)
            var seen: [Int] = []
            try store.clear(isDryRun: true) { seen.append($0.size) }
            #expect(seen == [2])
            #expect(try store.count() == 1)
            try store.clear(isDryRun: false) { _ in }
            #expect(try store.count() == 0)
            #expect(try store.open(key) == nil)
            #expect {
                try store.expire(
                    ExpiryPolicy(), now: .now, isDryRun: false, deleted: { _ in }, progress: { _ in true })
            } throws: { ($0 as? StoreError)?.code == .unsupported }
        }
    }

    @Test func `a local copy that is older than its age does not stand for an object that is gone`() async throws {
        let bucket = try await Bucket()
        let store = try bucket.store()
        var options = S3Store.Options()
        options.localAge = .zero
        let old = try bucket.store(options)
        let key = key
        try await blocking { try store.store([1], as: key) }
        try await bucket.client().delete("images/default/\(name)")
        let (fresh, stale) = try await blocking { (try store.use(key), try old.use(key)) }
        #expect(fresh == 1)
        #expect(stale == nil)
        let opened = try await blocking { try old.open(key) }
        #expect(opened == nil)
    }

    @Test func `a process expires the local copies that earlier ones left`() async throws {
        let bucket = try await Bucket()
        var options = S3Store.Options()
        options.localAge = .zero
        let (first, second) = (try bucket.store(), try bucket.store(options))
        let local = try DirectoryStore(CacheLayout(root: bucket.directory.path + "/local"))
        try await blocking {
            try first.store([1], as: CacheKey("http://a/1.png"))
            #expect(try local.count() == 1)
            try second.store([2], as: CacheKey("http://a/2.png"))
            #expect(try local.count() == 0)
        }
    }

    @Test func `a bucket is searched by present names only`() async throws {
        let bucket = try await Bucket()
        let store = try bucket.store()
        let (key, earlier) = (key, SDWebImageNaming().fileNames(of: key)[1])
        try await blocking {
            let file = try store.begin()
            try file.write([1])
            _ = try store.commit(file, named: earlier) { true }
            #expect(try store.use(key) == nil)
            #expect(try store.open(named: earlier) != nil)
        }
    }

    @Test func `the local directory stays within its size`() async throws {
        let bucket = try await Bucket()
        var options = S3Store.Options()
        options.localSize = 64 << 10
        let store = try bucket.store(options)
        let local = try DirectoryStore(CacheLayout(root: bucket.directory.path + "/local"))
        try await blocking {
            for number in 0..<12 {
                try store.store([UInt8](repeating: 1, count: 16 << 10), as: CacheKey("http://a/\(number).png"))
                #expect(try CacheUsage(of: local).bytes <= 80 << 10)
            }
            #expect(try store.count() == 12)
        }
    }
}
