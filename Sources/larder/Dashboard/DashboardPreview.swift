import Concurrency
import DiskCache
import Downloader
import Foundation
import ImageModel
import Transcoder

/// Makes variants of one image without storing them, as a worker would make them.
struct DashboardPreview: Sendable {
    /// Reads the cache before it downloads; nil where the images of the cache are not shown.
    let place: CachePlace?
    let downloader: ImageDownloader
    let objects: BucketSource
    let transcoding: TranscoderPool.Configuration
    /// Previews at once; each has a child process.
    private let running = AsyncSemaphore(2)

    /// Variants of one preview.
    private static let limit = 16
    /// A larger file is described and not sent.
    private static let mostBytes = 2 << 20
    private static let shown: Set<ImageFormat> = [.jpeg, .png, .gif, .webp, .avif]

    init(
        _ arguments: Arguments, place: CachePlace?, fetching: FetchConfiguration,
        transcoding: TranscoderPool.Configuration
    ) throws(CommandError) {
        self.place = place
        downloader = ImageDownloader(fetching)
        objects = try BucketSource(arguments, downloader, fetching.limits)
        var transcoding = transcoding
        transcoding.count = 1
        self.transcoding = transcoding
    }

    /// The source and each variant, or why it cannot be made.
    ///
    /// - Parameter body: `{"url":…,"variants":[…]}`.
    /// - Throws: wrong usage; what a download and a decoder throw about the source.
    func answer(_ body: [UInt8]) async throws -> JSONObject {
        guard let object = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any],
            let url = object["url"] as? String, let given = object["variants"] as? [Any], !url.isEmpty,
            given.count <= Self.limit
        else { throw CommandError.usage("the body needs 'url', and 'variants', an array of at most \(Self.limit)") }
        let variants = try given.enumerated().map { number, variant in
            let data = try? JSONSerialization.data(withJSONObject: variant, options: .fragmentsAllowed)
            let text = String(decoding: data ?? Data(), as: UTF8.self)
            return try VariantJSON.variant(text, from: "variant \(number + 1)")
        }
        guard await running.acquire() else { throw CommandError.larder(.other, "stopping") }
        return try await finally({ running.release() }) { try await preview(CacheKey(url), variants) }
    }

    private func preview(_ key: CacheKey, _ variants: [Variant]) async throws -> JSONObject {
        let start = ContinuousClock.now
        let (source, isCached) = try await source(key)
        let fetched = start.duration(to: .now)
        let pool = TranscoderPool(configuration: transcoding)
        return try await finally(pool.shutdown) {
            // Without a variant the header is read, and it starts the child, which no variant's time shall have.
            let header = try await pool.transcode(
                TranscodeRequest(source: source.descriptor, variants: [], outputs: [])
            ).source
            var made: [JSONObject] = []
            for variant in variants { made.append(try await line(variant, of: source, key, pool)) }
            return [
                "source": [
                    "key": key.text, "cached": isCached, "format": header.format.name, "width": header.width,
                    "height": header.height, "bytes": Self.size(source.descriptor), "ms": fetched.milliseconds,
                ] as JSONObject, "variants": made,
            ]
        }
    }

    /// A descriptor that stays open with what holds it.
    private struct Source: Sendable {
        let descriptor: Int32
        let owner: any Sendable
    }

    private func source(_ key: CacheKey) async throws -> (Source, isCached: Bool) {
        if let place {
            let file = try await place.disk.run { [store = place.store] in
                try store.peek(named: store.naming.fileName(of: key))
            }
            if let file { return (Source(descriptor: file.descriptor, owner: file), true) }
        }
        let file = try await ThreadPool(name: "preview", threads: 1).run { () throws(CommandError) in
            try ScratchFile()
        }
        let request = FetchRequest(key.text)
        _ =
            objects.canLoad(key.text)
            ? try await objects.fetch(request, into: file.descriptor)
            : try await downloader.fetch(request, into: file.descriptor)
        return (Source(descriptor: file.descriptor, owner: file), false)
    }

    private func line(
        _ variant: Variant, of source: Source, _ key: CacheKey, _ pool: TranscoderPool
    ) async throws -> JSONObject {
        let naming = SDWebImageNaming()
        let variantKey = try naming.key(of: variant, from: key)
        var line: JSONObject = [
            "name": variant.name, "key": variantKey?.text, "file": variantKey.map(naming.fileName),
        ]
        let threads = ThreadPool(name: "preview", threads: 1)
        let output = try await threads.run { () throws(CommandError) in try ScratchFile() }
        let start = ContinuousClock.now
        do {
            try variant.validateSupported()
            var request = TranscodeRequest(
                source: source.descriptor, variants: [variant], outputs: [output.descriptor])
            request.wantsDigest = false
            let made = try await pool.transcode(request).variants[0].get()
            line["ms"] = start.duration(to: .now).milliseconds
            line["format"] = made.format.name
            line["width"] = made.width
            line["height"] = made.height
            line["bytes"] = made.bytes
            line["quality"] = made.quality
            if Self.shown.contains(made.format), made.bytes <= Self.mostBytes {
                let bytes = await threads.run { output.prefix(made.bytes) }
                let type = made.format.mediaType
                line["data"] = "data:\(type);base64," + Data(bytes).base64EncodedString()
            }
        } catch {
            let error = CommandError(error)
            line["error"] = ["domain": error.domain, "code": error.code, "message": error.message] as JSONObject
        }
        return line
    }

    private static func size(_ descriptor: Int32) -> Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }
}
