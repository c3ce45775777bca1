internal import Concurrency
public import DiskCache
internal import Downloader
internal import ImageModel
public import Transcoder

/// Loads images in the order of SDWebImage's manager: blocklist, cache, download, transformers, stores.
///
/// Image bytes go from the network to a file, from the file to a transcoder child, and from there to files.
/// Source: SDWebImage 5.21.5, `SDWebImageManager`; docs/sdwebimage.md lists the differences.
public struct ImageManager: Loader {
    let transcoders: TranscoderPool
    let formats: FormatGate
    private let cache: any ImageStore
    private let configuration: Configuration
    /// Runs the loads, whose file calls block.
    private let disk: ThreadPool
    private let running = RunningTasks<UInt64>()
    private let lastNumber = Locked<UInt64>(0)

    /// A manager over an open cache.
    ///
    /// - Parameters:
    ///   - cache: where originals and variants are stored unless a load's context names another cache.
    ///   - transcoders: make the variants.
    public init(cache: any ImageStore, transcoders: TranscoderPool, configuration: Configuration) {
        self.cache = cache
        self.transcoders = transcoders
        self.configuration = configuration
        formats = FormatGate(configuration.limits)
        disk = ThreadPool(name: "disk", threads: configuration.diskThreads)
    }

    /// Whether a load is running (SDWebImage 5.21.5, `isRunning`).
    public var isRunning: Bool { !running.isEmpty }

    /// Ends every running load with error 2002 (SDWebImage 5.21.5, `cancelAll`).
    public func cancelAll() { running.cancelAll() }

    /// Loads one image: everything that the request wants is in the cache when this returns.
    ///
    /// A load that finds nothing and may not download returns an empty report.
    ///
    /// - Throws: `LoadError` when the original cannot be had or nothing may be stored. The failure of a single variant is
    ///   in the report; the original and the other variants are stored.
    public func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport {
        let plan = try LoadPlan(request, configuration, cache)
        guard !plan.url.isEmpty else { throw LoadError.noURL }
        let ignoresBlocklist = plan.options.contains(.retryFailed)
        if !ignoresBlocklist, await plan.blocklist.contains(plan.url) { throw LoadError.blocked(plan.url) }

        let number = lastNumber.withLock { number in
            number += 1
            return number
        }
        let (result, _) = await running.run(number) {
            // On the disk threads, also when the caller is an actor: from here on calls may block.
            await withTaskExecutorPreference(disk) { await run(plan) }
        }
        switch result {
        case .success(let report):
            if report.downloads > 0 && ignoresBlocklist { await plan.blocklist.remove(plan.url) }
            return report
        case .failure(let error):
            if shouldBlock(plan, error) { await plan.blocklist.insert(plan.url) }
            throw error
        }
    }

    @concurrent
    private func run(_ plan: LoadPlan) async -> Result<LoadReport, LoadError> {
        var report = LoadReport()
        do throws(LoadError) {
            try await load(plan, &report)
            return .success(report)
        } catch {
            return .failure(error.carrying(report))
        }
    }

    /// Looks up, fetches, transcodes and commits (SDWebImage 5.21.5, `SDWebImageManager`: query, original query, download,
    /// transform, store original, store).
    private func load(_ plan: LoadPlan, _ report: inout LoadReport) async throws(LoadError) {
        let cached = try CachedImages.lookUp(plan, formats)
        // SDWebImage asks its delegate and loaders on every load, also when everything is cached.
        let isAllowed = configuration.shouldDownload(plan.url)
        let source = source(for: plan)
        if let remembered = cached.remembered {
            report.stored = remembered
            return
        }

        let refreshes = plan.options.contains(.refreshCached)
        let decision = CacheDecision(
            hasOriginal: cached.original != nil, wanted: plan.variantStore.isEmpty ? 0 : plan.variants.count,
            missing: cached.missing(plan).count, refreshes: refreshes,
            mayDownload: isAllowed && source != nil && !plan.options.contains(.fromCacheOnly))
        switch decision {
        case .unavailable:
            return
        case .useCached:
            return try await useCached(cached, plan, &report)
        case .revalidate:
            if let changed = try await fetch(plan, from: source, unlike: cached.original, &report) {
                return try await transcodeAndCommit(CacheCommit(plan, .none(plan), changed), &report)
            }
            report.isUnchanged = true
            return try await useCached(cached, plan, &report)
        case .download:
            guard let original = try await fetch(plan, from: source, unlike: nil, &report) else {
                throw LoadError(.notModified, plan.url, "not modified, and no copy is known")
            }
            return try await transcodeAndCommit(CacheCommit(plan, refreshes ? .none(plan) : cached, original), &report)
        }
    }

    /// Makes the missing variants of the cached original. An original that does not decode is a miss: the load runs again
    /// without it.
    private func useCached(
        _ cached: CachedImages, _ plan: LoadPlan, _ report: inout LoadReport
    ) async throws(LoadError) {
        do throws(LoadError) {
            try await transcodeAndCommit(CacheCommit(plan, cached), &report)
        } catch {
            guard error.isUndecodable else { throw error }
            var plan = plan
            plan.originalQuery.remove(.disk)
            report.isUnchanged = false
            try await load(plan, &report)
        }
    }

    private func source(for plan: LoadPlan) -> (any ImageSource)? {
        plan.source ?? configuration.sources.last { $0.canLoad(plan.url) }
    }

    /// Whether a failed load puts its URL on the blocklist: only for faults of the source or of the image's bytes.
    private func shouldBlock(_ plan: LoadPlan, _ error: LoadError) -> Bool {
        guard !error.isCancellation, error.stage == .fetch || error.isUndecodable else { return false }
        if let decide = configuration.shouldBlock { return decide(plan.url, error.failure) }
        return source(for: plan)?.shouldBlock(plan.url, after: error.failure) ?? BlockRule.standard(error.failure)
    }
}
