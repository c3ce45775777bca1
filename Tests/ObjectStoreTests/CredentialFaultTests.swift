import DiskCache
import Downloader
import ObjectStore
import TestSupport
import Testing

/// Requests while no credentials are available.
@Suite(.timeLimit(.minutes(1)))
struct CredentialFaultTests {
    @Test(arguments: [500, 403, nil])
    func `a service that fails is this machine's fault, for the store and for sources`(status: Int?) async throws {
        let server = try OriginServer()
        server.on("/c", status.map { OriginReply.status($0) } ?? OriginReply([.reset]))
        let cache = CredentialCache(.container(url: server.url("/c"), token: nil, tokenFile: nil))
        // Nothing is sent to it.
        let bucket = try BucketAddress("s3://bucket", endpoint: "http://127.0.0.1:1")
        let directory = try TemporaryDirectory()
        let store = S3Store(
            ObjectClient(bucket, credentials: cache),
            local: try DirectoryStore(opening: directory.file("local"), durability: .none))
        let reader = ObjectReader(ImageDownloader(), limits: FetchLimits(), buckets: [bucket], credentials: cache)
        let cause = "the container's credentials endpoint: \(server.url("/c")): "

        await #expect { try await blocking { try store.store([1], as: CacheKey("http://a/1.png")) } } throws: { error in
            guard let error = error as? StoreError else { return false }
            return error.isLocal && error.description.contains(cause)
        }
        let request = FetchRequest("s3://bucket/a.jpg")
        await #expect { try await reader.fetch(request, into: BodyFile.sink.descriptor) } throws: { error in
            guard let error = error as? FetchError else { return false }
            return error.code == .localFault && error.profile == "s3://bucket" && error.message.contains(cause)
        }
    }
}
