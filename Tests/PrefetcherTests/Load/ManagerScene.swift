import Concurrency
import DiskCache
import Downloader
import Foundation
import ImageModel
import JobQueue
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher

/// Real parts for a manager: a server, a cache, one transcoder.
struct ManagerScene {
    let directory: TemporaryDirectory
    let origin: OriginServer
    let cache: DirectoryStore
    let transcoders: TranscoderPool
    let picture: [UInt8]

    init() throws {
        directory = try TemporaryDirectory()
        origin = try OriginServer()
        cache = try DirectoryStore(opening: directory.path + "/cache")
        var configuration = TranscoderPool.Configuration()
        configuration.count = 1
        configuration.executable = Products.larder
        transcoders = TranscoderPool(configuration: configuration)
        picture = try Picture.bytes("plain.jpg")
    }

    /// The web, with this machine's addresses open.
    var web: ImageDownloader {
        get throws { ImageDownloader(FetchConfiguration(policy: loopback(origin.port), limits: patient)) }
    }

    /// A manager whose parts the test changes.
    func manager(_ change: (inout ManagerParts) -> Void = { _ in }) throws -> ImageManager {
        var parts = ManagerParts(sources: [try web])
        change(&parts)
        return ImageManager(cache: cache, transcoders: transcoders, parts: parts)
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

/// What a load that must fail failed with, domain and code.
func failure(of request: LoadRequest, by manager: ImageManager) async -> FailureReason? {
    do throws(LoadError) {
        _ = try await manager.load(request)
        return nil
    } catch {
        return error.failure
    }
}

/// Something that counts how often it was called.
final class CallCount: Sendable {
    private let count = Locked(0)
    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
}
