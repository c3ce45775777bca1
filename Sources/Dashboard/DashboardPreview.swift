import Concurrency
import DiskCache
package import Downloader
import FoundationEssentials
import Glibc
import HTTPServer
import ImageModel
package import ObjectStore
package import Reports
package import Terminal
package import Transcoder

/// Makes variants of one image without storing them, as a worker would: from a URL, or from a file in the request.
package struct DashboardPreview: Sendable {
    /// Read before downloading; nil if the cache's images are not shown.
    package let place: CachePlace?
    package let downloader: ImageDownloader
    package let objects: ObjectReader
    package let transcoding: TranscoderPool.Configuration
    /// Maximum bytes of a file.
    private let mostBytes: Int
    /// Concurrent previews; each has a child process.
    private let running = AsyncSemaphore(2)
    private let threads = ThreadPool(name: "preview", threads: 2)

    /// Larger variants are described but not sent.
    private static let mostSentBytes = 2 << 20
    private static let shown: Set<ImageFormat> = [.jpeg, .png, .gif, .webp, .avif]

    /// - Parameters:
    ///   - mostBytes: maximum bytes of a file in a request.
    ///   - transcoding: the workers' transcoding settings.
    package init(
        place: CachePlace?, downloader: ImageDownloader, objects: ObjectReader, mostBytes: Int,
        transcoding: TranscoderPool.Configuration
    ) {
        self.place = place
        self.downloader = downloader
        self.objects = objects
        self.mostBytes = mostBytes
        var transcoding = transcoding
        transcoding.count = 1
        self.transcoding = transcoding
    }

    package static let path = "/api/v1/preview"
    /// Maximum request body, which may contain a file in base64.
    package static let longestBody = (PreviewRequest.mostBytes + 2) / 3 * 4 + HTTPEndpoint.longestBody

    /// The source and each variant, or why it cannot be made.
    ///
    /// - Throws: wrong usage; errors of a download and a decoder about the source.
    package func answer(_ body: [UInt8]) async throws -> JSONObject {
        let request = try await threads.run { [mostBytes] in
            try PreviewRequest(body, mostBytes: mostBytes)
        }
        guard await running.acquire() else { throw CommandError.larder(.other, "stopping") }
        return try await finally({ running.release() }) { try await preview(request) }
    }

    private func preview(_ request: PreviewRequest) async throws -> JSONObject {
        let start = ContinuousClock.now
        let source = try await source(request.source)
        let fetched = start.duration(to: .now)
        let pool = TranscoderPool(configuration: transcoding)
        return try await finally(pool.shutdown) {
            // Starts the child first so that its start-up is not measured as part of a variant.
            let header = try await pool.transcode(
                TranscodeRequest(source: source.descriptor, variants: [], outputs: [])
            ).source
            var made: [JSONObject] = []
            for variant in request.variants { made.append(try await line(variant, of: source, pool)) }
            let size = Self.size(source.descriptor)
            var original: JSONObject = [
                "key": source.key?.text, "cached": source.isCached, "format": header.formatName,
                "width": header.width, "height": header.height, "bytes": size, "ms": fetched.milliseconds,
            ]
            // Browsers show only the built-in formats.
            if header.coder == nil, let data = await data(of: source.descriptor, header.format, size) {
                original["data"] = data
            }
            return ["source": original, "variants": made]
        }
    }

    /// A descriptor that stays open with its owner.
    private struct Source: Sendable {
        let descriptor: Int32
        let owner: any Sendable
        var isCached = false
        /// Nil for a file in the request.
        let key: CacheKey?
    }

    private func source(_ wanted: PreviewRequest.Source) async throws -> Source {
        switch wanted {
        case .url(let key):
            if let place {
                let file = try await place.disk.run { [store = place.store] in
                    try store.peek(named: store.naming.fileName(of: key))
                }
                if let file { return Source(descriptor: file.descriptor, owner: file, isCached: true, key: key) }
            }
            let file = try await threads.run { () throws(CommandError) in try ScratchFile() }
            let request = FetchRequest(key.text)
            _ =
                BucketAddress.isBucket(key.text)
                ? try await objects.fetch(request, into: file.descriptor)
                : try await downloader.fetch(request, into: file.descriptor)
            return Source(descriptor: file.descriptor, owner: file, key: key)
        case .file(let bytes):
            let file = try await threads.run { () throws(CommandError) in try ScratchFile(bytes) }
            return Source(descriptor: file.descriptor, owner: file, key: nil)
        }
    }

    private func line(
        _ variant: Variant, of source: Source, _ pool: TranscoderPool
    ) async throws -> JSONObject {
        let naming = SDWebImageNaming()
        let variantKey = try source.key.flatMap { try naming.key(of: variant, from: $0) }
        var line: JSONObject = [
            "name": variant.name, "key": variantKey?.text, "file": variantKey.map(naming.fileName),
        ]
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
            if let data = await data(of: output.descriptor, made.format, made.bytes) { line["data"] = data }
        } catch {
            let error = CommandError(error)
            line["error"] = ["domain": error.domain, "code": error.code, "message": error.message] as JSONObject
        }
        return line
    }

    /// A file as a `data:` URL; nil if it is too large, or no browser shows it.
    private func data(of descriptor: Int32, _ format: ImageFormat, _ size: Int) async -> String? {
        guard Self.shown.contains(format), size <= Self.mostSentBytes else { return nil }
        let bytes = await threads.run { OutputFile.prefix(size, of: descriptor) }
        return "data:\(format.mediaType);base64," + Data(bytes).base64EncodedString()
    }

    private static func size(_ descriptor: Int32) -> Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }
}
