import Concurrency
import DiskCache
import Foundation
import ImageModel
import ObjectStore
import TestSupport
import Testing

/// Faults of the server in the middle of a transfer, and of many transfers at once.
@Suite(.enabled(if: MotoServer.isEnabled, "make object-stores"), .timeLimit(.minutes(5)))
struct ObjectFaultTests {
    private let key = CacheKey("http://example.com/image.png")

    /// A store that sends more than 1 MiB in parts of 5 MiB.
    private func storeOfParts(_ bucket: Bucket, local: String = "local") throws -> S3Store {
        var options = S3Store.Options()
        options.partThreshold = 1 << 20
        options.partSize = 5 << 20
        return try bucket.store(local: local, options)
    }

    @Test(arguments: ["reset upload", "lost answer"])
    func `a large upload that is interrupted is sent again, whole`(fault: String) async throws {
        let bucket = try await Bucket()
        let (store, reader) = (try bucket.store(), try bucket.store(local: "other"))
        let bytes = (0..<3_000_000).map { UInt8($0 % 251) }
        let key = key
        try await bucket.inject(fault, fault)
        try await blocking { try store.store(bytes, as: key) }
        let stored = try await blocking { try reader.open(key).map { SHA256Digest.hex(ofFile: $0.descriptor) } }
        #expect(stored == SHA256Digest.hex(of: bytes))
        #expect(try await bucket.requests().filter { $0.hasPrefix("PUT /\(bucket.name)/") }.count == 3)
    }

    @Test func `of an upload in parts only the interrupted part is sent again`() async throws {
        let bucket = try await Bucket()
        let store = try storeOfParts(bucket)
        let key = key
        // The upload begins, its first part arrives, its second is reset.
        try await bucket.inject(nil, nil, "reset upload")
        try await blocking {
            try store.store([UInt8](repeating: 3, count: 11 << 20), as: key)
            #expect(try store.open(key)?.size == 11 << 20)
        }
        let parts = try await bucket.requests().filter { $0.contains("partNumber=") }
        #expect(parts.map { $0.contains("partNumber=2") } == [false, true, true, false], "\(parts)")
    }

    @Test func `the end of an upload in parts that fails after its status is requested again`() async throws {
        let bucket = try await Bucket()
        let (store, reader) = (try storeOfParts(bucket), try bucket.store(local: "other"))
        let key = key
        // The upload begins, and two parts arrive.
        try await bucket.inject(nil, nil, nil, "late error")
        try await blocking {
            try store.store([UInt8](repeating: 3, count: 6 << 20), as: key)
            #expect(try reader.open(key)?.size == 6 << 20)
        }
        let ends = try await bucket.requests().filter { $0.hasPrefix("POST") && $0.contains("uploadId=") }
        #expect(ends.count == 2, "\(ends)")
    }

    @Test func `no parts stay behind when another worker has stored the same image`() async throws {
        let bucket = try await Bucket()
        let (one, two) = (try storeOfParts(bucket), try storeOfParts(bucket, local: "other"))
        let bytes = [UInt8](repeating: 3, count: 6 << 20)
        let key = key
        try await blocking { try one.store(bytes, as: key) }
        // The upload begins, and two parts arrive.
        try await bucket.inject(nil, nil, nil, "precondition failed")
        try await blocking { try two.store(bytes, as: key) }
        let pending = try await MotoServer.call("GET", "\(bucket.name)?uploads=")
        #expect(pending.contains("ListMultipartUploadsResult"), "\(pending)")
        #expect(!pending.contains("<UploadId>"), "\(pending)")
        #expect(try await bucket.requests().count { $0.hasPrefix("DELETE") && $0.contains("uploadId=") } == 1)
    }

    @Test(arguments: [10, 6 << 20])
    func `an upload whose permission ends after a failed try is not sent again`(size: Int) async throws {
        let bucket = try await Bucket()
        let store = try storeOfParts(bucket)
        let (key, asked) = (key, Locked(0))
        if size == 10 {
            try await bucket.inject("slow down")
        } else {
            // The upload begins, and two parts arrive.
            try await bucket.inject(nil, nil, nil, "slow down")
        }
        try await blocking {
            let file = try store.begin()
            try file.write([UInt8](repeating: 3, count: size))
            let isPublished = try store.commit(file, as: key) {
                asked.withLock { count in
                    count += 1
                    return count == 1
                }
            }
            #expect(!isPublished)
            #expect(asked.withLock { $0 } == 2)
        }
        let requests = try await bucket.requests()
        let ends = requests.filter { request in
            request.hasPrefix("PUT /\(bucket.name)/") && !request.contains("partNumber=")
                || request.hasPrefix("POST") && request.contains("uploadId=")
        }
        #expect(ends.count == 1, "\(requests)")
        #expect(requests.count { $0.hasPrefix("DELETE") } == (size == 10 ? 0 : 1))
        #expect(try await blocking { try store.count() } == 0)
    }

    @Test func `a slow response is awaited, and one that is slow and cut is read again`() async throws {
        let bucket = try await Bucket()
        let (store, reader) = (try bucket.store(), try bucket.store(local: "other"))
        let bytes = (0..<100_000).map { UInt8($0 % 241) }
        let key = key
        try await blocking { try store.store(bytes, as: key) }
        // The first request lists the names.
        try await bucket.inject(nil, "trickle")
        #expect(try await blocking { try reader.open(key)?.bytes(bytes.count) } == bytes)
        try await bucket.inject(nil, "cut answer", "trickle")
        let third = try bucket.store(local: "third")
        #expect(try await blocking { try third.open(key)?.bytes(bytes.count) } == bytes)
    }

    @Test func `many uploads at once are stored in spite of a server that throttles, resets and fails`() async throws {
        let bucket = try await Bucket()
        let store = try bucket.store { $0.transfers = 8 }
        let faults = ["slow down", "reset", "internal", "lost answer", "bad digest", "reset upload", "bad gateway"]
        try await bucket.inject(faults[0], faults[1], faults[2], faults[3], faults[4], faults[5], faults[6])
        let keys = (0..<16).map { CacheKey("http://example.com/\($0).png") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, key) in keys.enumerated() {
                group.addTask {
                    try await blocking { try store.store([UInt8](repeating: UInt8(number), count: 50_000), as: key) }
                }
            }
            try await group.waitForAll()
        }
        let reader = try bucket.store(local: "reader")
        for (number, key) in keys.enumerated() {
            let bytes = try await blocking { try reader.open(key)?.bytes(60_000) }
            #expect(bytes == [UInt8](repeating: UInt8(number), count: 50_000))
        }
    }
}
