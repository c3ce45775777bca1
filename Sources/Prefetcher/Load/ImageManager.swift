package import DiskCache
internal import Executors
package import Transcoder

/// Loads images the way SDWebImage's manager does: cache first, then network, then transformers, then the stores.
///
/// Image bytes go network → file → transcoder → file; they never pass through this process's memory as a whole.
public struct ImageManager: Sendable {
    let cache: DiskCache
    let downloader: Downloader
    let transcoders: TranscoderPool
    /// Where file calls block.
    let disk: BlockingPool
    let formats: Set<ImageFormat>

    /// A manager over an open cache.
    ///
    /// - Parameters:
    ///   - cache: where originals and variants lie.
    ///   - downloader: fetches what is not there.
    ///   - transcoders: make the variants.
    ///   - formats: the formats accepted as sources, JPEG, PNG, GIF, WebP, HEIC and AVIF by default.
    ///   - diskThreads: threads that may block on files, 4 by default.
    package init(
        cache: DiskCache, downloader: Downloader, transcoders: TranscoderPool,
        formats: Set<ImageFormat> = ImageFormat.acceptedByDefault, diskThreads: Int = 4
    ) {
        self.cache = cache
        self.downloader = downloader
        self.transcoders = transcoders
        self.formats = formats
        disk = BlockingPool(name: "disk", threads: diskThreads)
    }

    /// The way of one job, top to bottom: cached?, fetch, transcode, store
    /// (SDWebImage 5.21.5, SDWebImageManager: query, original query, download, transform, store original, store).
    ///
    /// The blocklist comes before all this: it is asked when a job is enqueued.
    ///
    /// - Throws: `LoadError` when the original cannot be had or nothing may be published. A variant that fails alone
    ///   is told in the report; the original and the other variants stay.
    public func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport {
        let keys = LoadKeys(request)
        var report = LoadReport()

        let found = try await lookUp(keys)
        let missing = found.missing(keys)
        var publication = Publication(keys: keys, found: found)

        if found.original != nil && missing.isEmpty { return try await store(publication, request, &report) }

        if let cached = found.original {
            do throws(LoadError) {
                publication.made = try await transcode(cached.descriptor, missing, request, &report)
                return try await store(publication, request, &report)
            } catch {
                // A stored file that does not decode is a miss: it is fetched again and overwritten.
                guard error.isUndecodable else { throw error }
            }
        }

        let download = try await fetch(request, &report)
        publication.original = download
        publication.made = try await transcode(download.file.descriptor, missing, request, &report)
        return try await store(publication, request, &report)
    }

    // MARK: - Stages

    private func lookUp(_ keys: LoadKeys) async throws(LoadError) -> FoundImages {
        do throws(StoreError) {
            return try await disk.run { [cache] () throws(StoreError) in try FoundImages(keys, in: cache) }
        } catch {
            throw LoadError(error, stage: .lookUp)
        }
    }

    private func fetch(_ request: LoadRequest, _ report: inout LoadReport) async throws(LoadError) -> Download {
        let start = ContinuousClock.now
        defer { report.timing.fetch += .now - start }
        let file: TemporaryFile
        do throws(StoreError) {
            file = try await disk.run { [cache] () throws(StoreError) in try cache.makeTemporaryFile() }
        } catch {
            throw LoadError(error)
        }
        do throws(FetchError) {
            let body = try await downloader.fetch(
                FetchRequest(
                    url: try SourceURL(request.url), descriptor: file.descriptor, accepts: FormatGate(formats).judge))
            report.downloads = 1
            report.bytesIn = Int(body.bytes)
            report.httpStatus = body.status
            return Download(file: file, body: body)
        } catch {
            throw LoadError(error)
        }
    }

    private func transcode(
        _ source: Int32, _ missing: [LoadKeys.Entry], _ request: LoadRequest, _ report: inout LoadReport
    ) async throws(LoadError) -> Transcoded {
        let start = ContinuousClock.now
        defer { report.timing.transcode += .now - start }
        let files: [TemporaryFile]
        do throws(StoreError) {
            files = try await disk.run { [cache] () throws(StoreError) in
                try missing.map { (_) throws(StoreError) in try cache.makeTemporaryFile() }
            }
        } catch {
            throw LoadError(error)
        }
        do throws(TranscodeError) {
            let result = try await transcoders.transcode(
                TranscodeRequest(
                    source: source, variants: missing.map(\.variant), outputs: files.map(\.descriptor),
                    scale: Double(CacheKey(request.url).scaleFactor),
                    transformsAnimated: request.options & SDOptions.transformAnimatedImage != 0))
            return Transcoded(files: files, result: result)
        } catch {
            throw LoadError(error).carrying(report)
        }
    }

    private func store(
        _ publication: Publication, _ request: LoadRequest, _ report: inout LoadReport
    ) async throws(LoadError) -> LoadReport {
        let start = ContinuousClock.now
        // The last moment at which a stale run can be kept from publishing anything.
        guard request.mayPublish(), !Task.isCancelled else { throw LoadError.cancelled.carrying(report) }
        do throws(StoreError) {
            report.stored = try await disk.run { [cache] () throws(StoreError) in
                try publication.publish(in: cache)
            }
            report.timing.store += .now - start
            return report
        } catch {
            throw LoadError(error).carrying(report)
        }
    }
}
