internal import Concurrency
public import DiskCache
public import Transcoder

/// Loads images the way SDWebImage's manager does: blocklist, cache, network, transformers, stores, in this order.
///
/// Image bytes go network → file → transcoder → file; they never pass through this process's memory as a whole.
/// Source: SDWebImage 5.21.5, `SDWebImageManager`; docs/sdwebimage.md tells where Larder differs, and why.
public struct ImageManager: Loader {
    let cache: any ImageStore
    let transcoders: TranscoderPool
    let parts: ManagerParts
    /// Where file calls block.
    let disk: ThreadPool
    let gate: FormatGate
    /// How many loads may have their variants' files open.
    let transcodePermits: AsyncSemaphore
    private let running = RunningTasks<UInt64>()
    private let numbers = Locked<UInt64>(0)

    /// A manager over an open cache.
    ///
    /// - Parameters:
    ///   - cache: where originals and variants lie, unless a load's context names another.
    ///   - transcoders: make the variants.
    ///   - parts: sources and what else a program may replace.
    ///   - limits: the formats and sizes accepted as sources, the transcoder's defaults by default.
    ///   - diskThreads: threads that may block on files, 4 by default.
    public init(
        cache: any ImageStore, transcoders: TranscoderPool, parts: ManagerParts,
        limits: TranscodeLimits = TranscodeLimits(), diskThreads: Int = 4
    ) {
        self.cache = cache
        self.transcoders = transcoders
        self.parts = parts
        gate = FormatGate(limits)
        disk = ThreadPool(name: "disk", threads: diskThreads)
        // At work, being stored, and one more, so that no transcoder waits for a picture to be made ready.
        transcodePermits = AsyncSemaphore(transcoders.count + diskThreads + 1)
    }

    /// Whether a load is under way (SDWebImage 5.21.5, `isRunning`).
    public var isRunning: Bool { !running.isEmpty }

    /// Ends every load under way with error 2002 (SDWebImage 5.21.5, `cancelAll`).
    public func cancelAll() { running.cancelAll() }

    /// Loads one image: everything the request asks for is in the cache when this returns.
    ///
    /// A load that may not download, by a hook or the option FromCacheOnly, and finds nothing, gives an empty report.
    ///
    /// - Throws: `LoadError` when the original cannot be had or nothing may be published. A variant that fails alone
    ///   is told in the report; the original and the other variants stay.
    public func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport {
        let plan = try LoadPlan(parts.optionsProcessor?(request) ?? request, parts, cache)
        let blocklist = request.blocklist ?? parts.blocklist
        guard !plan.url.isEmpty else { throw LoadError.noURL }
        // Before the cache: a URL that failed stays failed, whatever lies under its key.
        if !plan.options.contains(.retryFailed), await blocklist.contains(plan.url) {
            throw LoadError.blocked(plan.url)
        }
        do throws(LoadError) {
            let report = try await running(plan)
            if report.downloads > 0 && plan.options.contains(.retryFailed) { await blocklist.remove(plan.url) }
            return report
        } catch {
            if blocks(plan, error) { await blocklist.insert(plan.url) }
            throw error
        }
    }

    /// The way of one image, top to bottom: cached?, fetch, transcode, store
    /// (SDWebImage 5.21.5, SDWebImageManager: query, original query, download, transform, store original, store).
    ///
    /// Before it a job was claimed; after it the job is completed: `WorkerRegistration.perform`.
    private func perform(
        _ plan: LoadPlan, _ files: OpenFiles, _ report: inout LoadReport
    ) async throws(LoadError) -> LoadReport {
        if let remembered = plan.memory?.answer(plan) {
            _ = chooseSource(plan)
            report.stored = remembered
            return report
        }
        var found = try await lookUp(plan, files)
        let source = chooseSource(plan)
        let mayDownload = source != nil && !plan.options.contains(.fromCacheOnly)

        switch CacheDecision.next(found, plan, mayDownload: mayDownload) {
        case .nothing:
            return report
        case .useCached:
            if let done = try await useCached(found, plan, files, &report) { return done }
            if !mayDownload { return report }
        case .revalidate:
            if let changed = try await fetch(plan, from: source, unlike: found.original, files, &report) {
                return try await transcodeAndStore(CacheCommit(plan, .nothing(plan), changed), files, &report)
            }
            if let done = try await useCached(found, plan, files, &report) { return done }
        case .download:
            if plan.options.contains(.refreshCached) { found = .nothing(plan) }
        }

        guard let original = try await fetch(plan, from: source, unlike: nil, files, &report) else {
            throw LoadError.unexpectedlyUnmodified(plan.url).carrying(report)
        }
        return try await transcodeAndStore(CacheCommit(plan, found, original), files, &report)
    }

    /// Runs a load so that `cancelAll` reaches it, and closes and removes what it leaves open where that may block.
    private func running(_ plan: LoadPlan) async throws(LoadError) -> LoadReport {
        let number = numbers.withLock { number in
            number += 1
            return number
        }
        let files = OpenFiles()
        let (result, _) = await running.run(number) { () async -> Result<LoadReport, LoadError> in
            var report = LoadReport()
            do throws(LoadError) {
                return .success(try await perform(plan, files, &report))
            } catch {
                return .failure(error)
            }
        }
        await disk.run { files.close() }
        return try result.get()
    }

    /// The source to ask, the last added first; nil when none knows the URL or a hook forbids the download.
    private func chooseSource(_ plan: LoadPlan) -> (any ImageSource)? {
        // Asked on every load that comes here, as in SDWebImage, also when all is cached.
        let isAllowed = parts.shouldDownload(plan.url)
        let source = plan.source ?? parts.sources.last { $0.canLoad(plan.url) }
        return isAllowed ? source : nil
    }

    /// Whether a failed load puts its URL on the blocklist: only for what the source, or its bytes, did wrong.
    private func blocks(_ plan: LoadPlan, _ error: LoadError) -> Bool {
        guard !error.isCancellation, error.stage == .fetch || error.isUndecodable else { return false }
        if let decide = parts.shouldBlock { return decide(plan.url, error.failure) }
        return chooseSource(plan)?.shouldBlock(plan.url, after: error.failure) ?? BlockRule.standard(error.failure)
    }
}
