package import DiskCache
internal import Executors
package import Transcoder

/// Loads images the way SDWebImage's manager does: cache first, then network, then transformers, then the stores.
///
/// Image bytes go network → file → transcoder → file; they never pass through this process's memory as a whole.
public struct ImageManager: Loader {
    let cache: DiskCache
    let downloader: Downloader
    let transcoders: TranscoderPool
    /// Where file calls block.
    let disk: BlockingPool
    let formats: Set<ImageFormat>
    /// How many loads may have their variants' files open.
    private let nearTranscoders: Permits

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
        // At work, being stored, and one more, so that no transcoder waits for a picture to be made ready.
        nearTranscoders = Permits(transcoders.count + diskThreads + 1)
    }

    /// The way of one job, top to bottom: cached?, fetch, transcode, store
    /// (SDWebImage 5.21.5, SDWebImageManager: query, original query, download, transform, store original, store).
    ///
    /// Before it a job was claimed, and the blocklist was asked when it was enqueued; after it the job is settled:
    /// `WorkerShift.perform`.
    ///
    /// - Throws: `LoadError` when the original cannot be had or nothing may be published. A variant that fails alone
    ///   is told in the report; the original and the other variants stay.
    public func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport {
        try await withFiles { (files, report) async throws(LoadError) in
            let keys = LoadKeys(request)

            let found = try await lookUp(keys, files)
            let missing = found.missing(keys)
            var publication = Publication(keys: keys, found: found, mayPublish: request.mayPublish)
            if found.original != nil && missing.isEmpty { return try await store(publication, &report) }

            if let cached = found.original {
                do throws(LoadError) {
                    return try await transcodeAndStore(
                        cached.descriptor, missing, publication, request, files, &report)
                } catch {
                    // A stored file that does not decode is a miss: it is fetched again and overwritten.
                    guard error.isUndecodable else { throw error }
                }
            }

            let download = try await fetch(request, files, &report)
            publication.original = download
            return try await transcodeAndStore(
                download.file.descriptor, missing, publication, request, files, &report)
        }
    }

    // MARK: - Stages

    /// Runs a load, and closes and removes what it leaves open where that may block.
    private func withFiles(
        _ load: (OpenFiles, inout LoadReport) async throws(LoadError) -> LoadReport
    ) async throws(LoadError) -> LoadReport {
        let files = OpenFiles()
        var report = LoadReport()
        let result: Result<LoadReport, LoadError>
        do throws(LoadError) {
            result = .success(try await load(files, &report))
        } catch {
            result = .failure(error)
        }
        await disk.run { files.close() }
        return try result.get()
    }

    private func lookUp(_ keys: LoadKeys, _ files: OpenFiles) async throws(LoadError) -> FoundImages {
        do throws(StoreError) {
            return try await disk.run { [cache] () throws(StoreError) in
                let found = try FoundImages(keys, in: cache)
                if let original = found.original { files.keep(original) }
                return found
            }
        } catch {
            throw LoadError(error, stage: .lookUp)
        }
    }

    private func fetch(
        _ request: LoadRequest, _ files: OpenFiles, _ report: inout LoadReport
    ) async throws(LoadError) -> Download {
        let file = try await makeFiles(1, files)[0]
        let start = ContinuousClock.now
        do throws(FetchError) {
            let body = try await downloader.fetch(
                FetchRequest(
                    url: try SourceURL(request.url), descriptor: file.descriptor, accepts: FormatGate(formats).judge))
            report.timing.fetch += .now - start
            report.downloads = 1
            report.bytesIn = Int(body.bytes)
            report.httpStatus = body.status
            return Download(file: file, body: body)
        } catch {
            report.timing.fetch += .now - start
            throw LoadError(error).carrying(report)
        }
    }

    /// The two stages that hold the variants' files open: few loads are in them at once, as thirty-two files for each
    /// slot would be more than a process may have.
    private func transcodeAndStore(
        _ source: Int32, _ missing: [LoadKeys.Entry], _ publication: Publication, _ request: LoadRequest,
        _ files: OpenFiles, _ report: inout LoadReport
    ) async throws(LoadError) -> LoadReport {
        guard await nearTranscoders.acquire() else { throw LoadError.cancelled.carrying(report) }
        defer { nearTranscoders.release() }
        var publication = publication
        publication.made = try await transcode(source, missing, request, files, &report)
        return try await store(publication, &report)
    }

    private func transcode(
        _ source: Int32, _ missing: [LoadKeys.Entry], _ request: LoadRequest, _ files: OpenFiles,
        _ report: inout LoadReport
    ) async throws(LoadError) -> Transcoded {
        let start = ContinuousClock.now
        let outputs = try await makeFiles(missing.count, files)
        do throws(TranscodeError) {
            let result = try await transcoders.transcode(
                TranscodeRequest(
                    source: source, variants: missing.map(\.variant), outputs: outputs.map(\.descriptor),
                    scale: Double(CacheKey(request.url).scaleFactor),
                    transformsAnimated: request.options & SDOptions.transformAnimatedImage != 0))
            report.timing.transcode += .now - start
            return Transcoded(files: outputs, result: result)
        } catch {
            report.timing.transcode += .now - start
            throw LoadError(error).carrying(report)
        }
    }

    private func store(
        _ publication: Publication, _ report: inout LoadReport
    ) async throws(LoadError) -> LoadReport {
        let start = ContinuousClock.now
        guard !Task.isCancelled else { throw LoadError.cancelled.carrying(report) }
        do throws(LoadError) {
            report.stored = try await disk.run { [cache] () throws(LoadError) in try publication.publish(in: cache) }
            report.timing.store += .now - start
            return report
        } catch {
            throw error.carrying(report)
        }
    }

    private func makeFiles(_ count: Int, _ files: OpenFiles) async throws(LoadError) -> [TemporaryFile] {
        do throws(StoreError) {
            return try await disk.run { [cache] () throws(StoreError) in
                var made: [TemporaryFile] = []
                for _ in 0..<count {
                    let file = try cache.makeTemporaryFile()
                    files.keep(file)
                    made.append(file)
                }
                return made
            }
        } catch {
            throw LoadError(error)
        }
    }
}
