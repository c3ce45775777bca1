import DiskCache
import Downloader
import Foundation
import ImageModel
import ObjectStore
import TestSupport
import Testing

/// The client against moto.
@Suite(.enabled(if: MotoServer.isEnabled, "make object-stores"), .timeLimit(.minutes(5)))
struct ObjectClientTests {
    private func put(
        _ bytes: [UInt8], _ key: String, _ bucket: Bucket, _ client: ObjectClient, _ condition: WriteCondition = .none
    ) async throws -> String {
        let file = try bucket.file(bytes)
        return try await client.put(
            UploadedPart(of: file.descriptor, count: bytes.count), sha256: SHA256Digest.hex(of: bytes), as: key,
            headers: [HeaderField("Content-Type", "image/png"), HeaderField("x-amz-meta-one", "two words")],
            if: condition)
    }

    @Test func `stores, reads and deletes objects whose names need escapes`() async throws {
        let bucket = try await Bucket()
        let client = try bucket.client()
        for key in ["images/a.png", "images/übung 图.p+n&g=", "images/!'()*~", "images/a b?c#d%2F"] {
            let bytes = Array("bytes of \(key)".utf8)
            let etag = try await put(bytes, key, bucket, client)
            let head = try #require(try await client.head(key))
            #expect(head.size == bytes.count)
            #expect(head.etag == etag)
            #expect(head.metadata["one"] == "two words")
            let target = try bucket.file([])
            #expect(try await client.get(key, into: target.descriptor)?.size == bytes.count)
            #expect(try target.bytes() == bytes)
            #expect(try await client.list(prefix: key).objects.map(\.key) == [key])
            try await client.delete(key)
            #expect(try await client.head(key) == nil)
            #expect(try await client.get(key, into: target.descriptor) == nil)
            try await client.delete(key)
        }
    }

    @Test func `a condition that does not hold writes nothing`() async throws {
        let bucket = try await Bucket()
        let client = try bucket.client()
        let first = try await put([1], "a", bucket, client, .absent)
        await #expect { try await put([2], "a", bucket, client, .absent) } throws: {
            ($0 as? ObjectStoreError)?.code == .preconditionFailed
        }
        let second = try await put([3], "a", bucket, client, .unchanged(first))
        #expect(second != first)
        await #expect { try await put([4], "a", bucket, client, .unchanged(first)) } throws: {
            ($0 as? ObjectStoreError)?.code == .preconditionFailed
        }
        let target = try bucket.file([])
        _ = try await client.get("a", into: target.descriptor)
        #expect(try target.bytes() == [3])
    }

    @Test func `lists page by page and deletes many at once`() async throws {
        let bucket = try await Bucket()
        let client = try bucket.client()
        let keys = (0..<7).map { "images/<\($0)>&" }
        for key in keys { _ = try await put([1], key, bucket, client) }
        var found: [String] = []
        var token: String?
        var pages = 0
        repeat {
            let page = try await client.list(prefix: "images/", from: token, limit: 3)
            found += page.objects.map(\.key)
            token = page.next
            pages += 1
        } while token != nil
        #expect(found == keys)
        #expect(pages == 3)
        try await client.delete(all: keys)
        #expect(try await client.list(prefix: "images/").objects.isEmpty)
    }

    @Test func `a large file appears whole when its parts are joined`() async throws {
        let bucket = try await Bucket()
        let client = try bucket.client()
        let size = (12 << 20) + 7
        var bytes = [UInt8](repeating: 7, count: size)
        bytes[size - 1] = 9
        let file = try bucket.file(bytes)
        let descriptor = file.descriptor
        let digests = try stride(from: 0, to: size, by: 5 << 20).map {
            try #require(SHA256Digest.hex(ofFile: descriptor, in: $0..<min($0 + 5 << 20, size)))
        }
        let pending = try await client.putParts(
            of: descriptor, size: size, partSize: 5 << 20, as: "big", headers: [], digests: digests)
        #expect(try await client.head("big") == nil)
        try await client.complete(pending, if: .absent)
        let target = try bucket.file([])
        #expect(try await client.get("big", into: target.descriptor)?.size == size)
        #expect(SHA256Digest.hex(ofFile: target.descriptor) == SHA256Digest.hex(of: bytes))
    }

    @Test(arguments: ["slow down", "internal", "reset", "bad gateway", "bad digest", "lost answer"])
    func `a request is sent again after`(fault: String) async throws {
        let bucket = try await Bucket()
        let client = try bucket.client()
        try await bucket.inject(fault, fault)
        _ = try await put([1, 2, 3], "a", bucket, client)
        #expect(try await client.head("a")?.size == 3)
        #expect(try await bucket.requests().filter { $0.hasPrefix("PUT") }.count == 4)
    }

    @Test func `an answer that is cut short is read again`() async throws {
        let bucket = try await Bucket()
        let client = try bucket.client()
        let bytes = (0..<100_000).map { UInt8($0 % 251) }
        _ = try await put(bytes, "a", bucket, client)
        try await bucket.inject("cut answer", "cut answer")
        let target = try bucket.file([])
        _ = try await client.get("a", into: target.descriptor)
        #expect(try target.bytes() == bytes)
    }

    @Test func `gives up after five tries and says what the server said`() async throws {
        let bucket = try await Bucket()
        let client = try bucket.client()
        try await bucket.inject("slow down", "slow down", "slow down", "slow down", "slow down")
        await #expect { try await put([1], "a", bucket, client) } throws: { error in
            let error = error as? ObjectStoreError
            return error?.code == .throttled && error?.message == "HTTP status 503, SlowDown: scripted"
        }
        #expect(try await client.head("a") == nil)
    }

    @Test func `a server that is silent for long is given up`() async throws {
        let bucket = try await Bucket()
        let client = try bucket.client { configuration in
            configuration.idle = .milliseconds(100)
            configuration.retries.attempts = 1
        }
        try await bucket.inject("slow 2")
        await #expect { try await client.head("a") } throws: { ($0 as? ObjectStoreError)?.code == .unreachable }
    }

    @Test func `a bucket that does not exist is named`() async throws {
        let bucket = try await Bucket(creating: false)
        let client = try bucket.client()
        await #expect { try await client.list(prefix: "") } throws: { ($0 as? ObjectStoreError)?.code == .noBucket }
    }

    @Test func `credentials that expired are requested anew, once`() async throws {
        let bucket = try await Bucket()
        let path = bucket.directory.path + "/credentials"
        func write(_ id: String) throws {
            try "[default]\naws_access_key_id = \(id)\naws_secret_access_key = s\n".write(
                toFile: path, atomically: true, encoding: .utf8)
        }
        try write("old")
        let client = ObjectClient(
            try BucketAddress("s3://\(bucket.name)", endpoint: bucket.endpoint),
            credentials: CredentialCache(.file(path: path, profile: "default")))
        #expect(try await client.head("a") == nil)
        try await bucket.inject("expired", "expired")
        // The file has the same ones still.
        await #expect { try await client.list(prefix: "") } throws: {
            ($0 as? ObjectStoreError)?.code == .badCredentials
        }
        try write("new")
        #expect(try await client.list(prefix: "").objects.isEmpty)
        // The response to HEAD has no body, and the request that asks why is refused, too.
        try await bucket.inject("expired", "expired")
        try write("newer")
        #expect(try await client.head("a") == nil)
        #expect(try await bucket.requests().suffix(3).map { $0.prefix(4) } == ["HEAD", "GET ", "HEAD"])
    }
}
