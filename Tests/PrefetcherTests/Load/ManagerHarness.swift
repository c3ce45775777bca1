import Concurrency
import DiskCache
import Downloader
import Foundation
import ImageModel
import TestSupport
import TestTranscoder
import Testing

@testable import Prefetcher

/// A server, a cache and a transcoder in this process for a manager.
struct ManagerHarness {
    let directory: TemporaryDirectory
    let origin: OriginServer
    let cache: DirectoryStore
    let transcoders = DirectTranscoder()
    let image: [UInt8]

    init() throws {
        directory = try TemporaryDirectory()
        origin = try OriginServer()
        cache = try DirectoryStore(opening: directory.path + "/cache")
        image = try TestImage.bytes("plain.jpg")
    }

    /// A source that may connect to the server.
    var web: ImageDownloader {
        get throws { ImageDownloader(FetchConfiguration(policy: loopback(origin.port), limits: longLimits)) }
    }

    /// A manager over these, with configuration changes.
    func manager(_ change: (inout ImageManager.Configuration) -> Void = { _ in }) throws -> ImageManager {
        var configuration = ImageManager.Configuration(sources: [try web])
        change(&configuration)
        return ImageManager(cache: cache, transcoders: transcoders, configuration: configuration)
    }

    /// A request with one variant, 20 × 10, unless `variants` says otherwise.
    func request(_ path: String = "/a.jpg", _ options: LoadOptions = [], variants: String = half) throws -> LoadRequest
    {
        let pipeline = try Pipeline(json: #"{"name":"test","variants":\#(variants)}"#.utf8)
        return LoadRequest(url: origin.url(path), variants: pipeline.variants, options: options)
    }

    static let half = #"[{"name":"half","transform":[{"type":"resize","width":20,"height":10}]}]"#
    static let halfKey = "SDImageResizingTransformer({20.000000,10.000000},0)"

    /// The stored bytes of a key; nil when there are none.
    func stored(_ key: String, in cache: DirectoryStore? = nil) -> [UInt8]? {
        let path = (cache ?? self.cache).layout.path(of: CacheKey(key))
        return FileManager.default.contents(atPath: path).map(Array.init)
    }

    /// The stored bytes of `half` of a key.
    func storedHalf(_ key: String, in cache: DirectoryStore? = nil) -> [UInt8]? {
        CacheKey(key).appending(Self.halfKey).flatMap { stored($0.text, in: cache) }
    }
}

/// The failure of a load; nil when it succeeds.
func failure(of request: LoadRequest, by manager: ImageManager) async -> FailureReason? {
    do throws(LoadError) {
        _ = try await manager.load(request)
        return nil
    } catch {
        return error.failure
    }
}

/// A source that returns one image for every URL.
struct FixedSource: ImageSource {
    let bytes: [UInt8]

    func canLoad(_ url: String) -> Bool { true }

    func load(
        _ request: FetchRequest, options: LoadOptions, into file: Int32
    ) async throws(LoadError) -> FetchResponse {
        write(file, bytes, bytes.count)
        return FetchResponse(bytes: bytes.count, sha256: Array(repeating: 7, count: 32))
    }
}

/// Counts calls.
final class CallCount: Sendable {
    private let count = Locked(0)
    var value: Int { count.withLock { $0 } }
    func add() { _ = next() }

    /// The number of this call, from 1 on.
    func next() -> Int {
        count.withLock {
            $0 += 1
            return $0
        }
    }
}
