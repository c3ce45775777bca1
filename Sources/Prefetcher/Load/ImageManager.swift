internal import Concurrency
public import DiskCache
internal import Downloader
internal import FoundationEssentials
internal import ImageModel
public import Transcoder

/// Loads images in the order of SDWebImage's manager: blocklist, cache, download, transformers, stores.
///
/// Image bytes go from the network to a file, from the file to a transcoder child, and from there to files.
/// Source: SDWebImage 5.21.5, `SDWebImageManager`; docs/sdwebimage.md lists the differences.
public struct ImageManager: Loader {
    private let transcoders: any Transcoding
    private let formats: FormatGate
    private let cache: any ImageStore
    private let configuration: Configuration
    /// Runs the loads, whose file calls block.
    private let disk: ThreadPool
    /// Threads for a store on another host; nil if the disk threads call the stores.
    private let remote: StoreThreads?
    private let running = RunningTasks<UUID>()
    private let stages = LoadsInFlight()
    private let plans = VariantPlans()
    private let sameBytes = SameBytes()

    /// A manager over an open cache.
    ///
    /// - Parameters:
    ///   - cache: stores originals and variants unless a load's context names another cache.
    ///   - transcoders: make the variants.
    ///   - configuration: sources, and the policy of all loads.
    public init(cache: any ImageStore, transcoders: any Transcoding, configuration: Configuration) {
        self.cache = cache
        self.transcoders = transcoders
        self.configuration = configuration
        formats = FormatGate(configuration.limits)
        disk = ThreadPool(name: "disk", threads: configuration.diskThreads)
        remote = configuration.storeThreads.map { StoreThreads($0, transcoders: transcoders.count) }
    }

    /// Whether a load is running (SDWebImage 5.21.5, `isRunning`).
    public var isRunning: Bool { !running.isEmpty }

    /// Running loads per stage; absent stages have none. A load that waits for a transfer or a transcoder counts in
    /// that stage.
    public var inFlight: [LoadError.Stage: Int] { stages.current }

    /// Ends every running load with error 2002 (SDWebImage 5.21.5, `cancelAll`).
    public func cancelAll() { running.cancelAll() }

    /// Loads one image: the requested original and variants are cached when this returns.
    ///
    /// A load that finds nothing and may not download returns an empty report.
    ///
    /// - Throws: `LoadError` if the original cannot be loaded or nothing may be stored. Failures of single variants are
    ///   in the report; the original and the other variants are stored.
    public func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport {
        let plan = try LoadPlan(request, configuration, cache, plans)
        guard !plan.request.url.isEmpty else { throw LoadError.noURL }
        let ignoresBlocklist = plan.request.options.contains(.retryFailed)
        if !ignoresBlocklist, await plan.blocklist.contains(plan.request.url) {
            throw LoadError.blocked(plan.request.url)
        }

        let (result, _) = await running.run(UUID()) {
            // Run on the disk threads, also if the caller is an actor: calls block from here on.
            await withTaskExecutorPreference(disk) { await run(plan) }
        }
        switch result {
        case .success(let report):
            if report.downloads > 0 && ignoresBlocklist { await plan.blocklist.remove(plan.request.url) }
            return report
        case .failure(let error):
            if shouldBlock(plan, error) {
                let duration = FailureClassification.of(error.failure).blockDuration
                await plan.blocklist.insert(plan.request.url, for: duration)
            }
            throw error
        }
    }

    /// Reports the loads whose original and variants are all on the disk, in one call of a disk thread: a task for each
    /// of them would take longer than its files. Nil for every other load.
    ///
    /// - Parameter requests: of URLs that are not blocked.
    package func cached(_ requests: [LoadRequest]) async -> [LoadReport?] {
        guard remote == nil else { return requests.map { _ in nil } }
        return await disk.run { requests.map { cached($0) } }
    }

    /// An error is left to the load.
    private func cached(_ request: LoadRequest) -> LoadReport? {
        guard !request.options.contains(.refreshCached), !request.recordsSteps,
            let plan = try? LoadPlan(request, configuration, cache, plans), plan.originalKey != nil,
            let found = try? CachedImages.lookUp(plan, formats.gate(hasCoder: plan.coder != nil)),
            found.original?.file != nil, found.missing(plan).isEmpty, let stored = try? CacheCommit(plan, found).run()
        else { return nil }
        // SDWebImage calls its delegate on every load, also when everything is cached.
        _ = configuration.shouldDownload(plan.request.url)
        var report = LoadReport()
        report.stored = stored
        return report
    }

    @concurrent
    private func run(_ plan: LoadPlan) async -> Result<LoadReport, LoadError> {
        var report = LoadReport()
        if plan.request.recordsSteps { report.steps = [] }
        do throws(LoadError) {
            try await load(plan, &report)
            return .success(report)
        } catch {
            return .failure(error.carrying(report))
        }
    }

    /// Looks up, fetches, transcodes and commits (SDWebImage 5.21.5, `SDWebImageManager`: query, original query,
    /// download, transform, store original, store).
    private func load(_ plan: LoadPlan, _ report: inout LoadReport) async throws(LoadError) {
        if let reason = DescriptorReserve.shortage().flatMap({ MachineShortage.reason($0) }) {
            throw LoadError(.lookUp, .localFault, reason)
        }
        let cached = try await lookUp(plan, &report)
        // SDWebImage calls its delegate on every load, even if everything is cached.
        let isAllowed = configuration.shouldDownload(plan.request.url)
        try await load(plan, cached, isAllowed: isAllowed, &report)
    }

    private func lookUp(_ plan: LoadPlan, _ report: inout LoadReport) async throws(LoadError) -> CachedImages {
        stages.enter(.lookUp)
        let start = ContinuousClock.now
        defer {
            report.steps?.append(LoadStep(.stage(.lookUp), from: start))
            stages.leave(.lookUp)
        }
        let formats = formats.gate(hasCoder: plan.coder != nil)
        guard let remote else { return try CachedImages.lookUp(plan, formats) }
        return try await remote.run { () throws(LoadError) in try CachedImages.lookUp(plan, formats) }
    }

    private func load(
        _ plan: LoadPlan, _ cached: CachedImages, isAllowed: Bool, _ report: inout LoadReport
    ) async throws(LoadError) {
        let refreshes = plan.request.options.contains(.refreshCached)
        let decision = CacheDecision(
            hasOriginal: cached.original != nil, wanted: plan.originalKey == nil ? 0 : plan.variants.count,
            missing: cached.missing(plan).count, refreshes: refreshes,
            mayDownload: isAllowed && plan.source != nil && !plan.request.options.contains(.fromCacheOnly))
        switch decision {
        case .unavailable:
            return
        case .useCached:
            return try await useCached(cached, plan, isAllowed: isAllowed, &report)
        case .revalidate:
            switch try await fetch(plan, unlike: cached.original?.file, &report) {
            case .new(let changed):
                return try await transcodeAndCommit(CacheCommit(plan, .none(plan), changed), &report)
            case .unchanged:
                report.isUnchanged = true
                return try await useCached(cached, plan, isAllowed: isAllowed, &report)
            }
        case .download:
            guard case .new(let original) = try await fetch(plan, unlike: nil, &report) else {
                throw LoadError(.notModified, plan.request.url, "not modified, and no copy is known")
            }
            return try await transcodeAndCommit(CacheCommit(plan, refreshes ? .none(plan) : cached, original), &report)
        }
    }

    /// Makes the missing variants from the cached original. If it does not decode, the load continues as if it were not
    /// cached.
    private func useCached(
        _ cached: CachedImages, _ plan: LoadPlan, isAllowed: Bool, _ report: inout LoadReport
    ) async throws(LoadError) {
        do throws(LoadError) {
            try await transcodeAndCommit(CacheCommit(plan, cached), &report)
        } catch {
            guard error.isUndecodable else { throw error }
            var cached = cached
            cached.original = nil
            report.isUnchanged = false
            try await load(plan, cached, isAllowed: isAllowed, &report)
        }
    }

    // MARK: - Fetch

    /// Downloads the original.
    ///
    /// - Parameter cached: a cached original to revalidate (SDWebImage 5.21.5, SDWebImageRefreshCached).
    private func fetch(
        _ plan: LoadPlan, unlike cached: OpenFile?, _ report: inout LoadReport
    ) async throws(LoadError) -> Fetched {
        guard let source = plan.source else { throw LoadError.noURL }
        stages.enter(.fetch)
        let start = ContinuousClock.now
        let hops = report.steps.map { _ in Locked<[FetchHop]>([]) }
        let waits = Locked((lookup: Duration.zero, connection: Duration.zero))
        defer {
            let waited = waits.withLock { $0 }
            report.timing.lookup += waited.lookup
            report.timing.connectionWait += waited.connection
            report.timing.fetch += .now - start - waited.lookup - waited.connection
            report.steps?.append(LoadStep(.stage(.fetch), from: start))
            report.steps?.append(contentsOf: hops?.withLock { $0.map { LoadStep($0) } } ?? [])
            stages.leave(.fetch)
        }
        let known = try cached.map { (file) throws(LoadError) in try storing(try Validators(of: file), stage: .lookUp) }
        var request = try request(plan, known)
        request.observesWait = { wait, time in
            waits.withLock { if wait == .lookup { $0.lookup += time } else { $0.connection += time } }
        }
        if let hops { request.observesHop = { hop in hops.withLock { $0.append(hop) } } }
        // SDWebImage refreshes without the option.
        let partial = cached == nil ? plan.partialImages(by: transcoders, every: configuration.partialInterval) : nil
        if partial != nil { request.pieceBytes = PartialImages.pieceBytes }
        let file = try storing(try plan.originalCache.begin())
        let load = { [request] () async throws(LoadError) in
            // Keep the source's work off the disk threads.
            try await withTaskExecutorPreference(globalConcurrentExecutor) { () async throws(LoadError) in
                try await source.load(request, options: plan.request.options, into: file.descriptor)
            }
        }
        let response: FetchResponse
        if let partial {
            response = try await partial.during(file.descriptor, load)
        } else {
            response = try await load()
        }
        if response.isNotModified { return .unchanged }
        report.downloads = 1
        report.bytesIn = response.bytes
        report.httpStatus = response.status
        report.robotsTag = response.robotsTag
        let validators = response.validators
        if let cached, let known, known.sha256 == validators.sha256 {
            // New validators may avoid the next download.
            if known != validators { validators.save(to: cached) }
            return .unchanged
        }
        let download = Download(file: file, response: response, validators: validators)
        guard let decryptor = plan.decryptor else { return .new(download) }
        return .new(try decrypt(download, decryptor, plan))
    }

    private func request(_ plan: LoadPlan, _ known: Validators?) throws(LoadError) -> FetchRequest {
        var request = FetchRequest(plan.request.url)
        request.priority = plan.request.options.priority
        request.handlesCookies = plan.request.options.contains(.handleCookies)
        request.allowsInvalidCertificates = plan.request.options.contains(.allowInvalidSSLCertificates)
        request.credentials = plan.request.context.credentials
        request.validators = known
        request.rules.modifier = plan.responseModifier
        if let progress = plan.request.progress {
            request.progress = { step in if step.hasResponse { progress(step.received, step.expected) } }
        }
        // Encrypted bytes have no image format.
        if plan.decryptor == nil { request.inspects = formats.gate(hasCoder: plan.coder != nil).inspect }
        guard let modifier = plan.requestModifier else { return request }
        guard let modified = modifier(request) else {
            throw LoadError(.invalidOperation, plan.request.url, "the request modifier returned no request")
        }
        return modified
    }

    private func decrypt(
        _ download: Download, _ decryptor: DataTransform, _ plan: LoadPlan
    ) throws(LoadError) -> Download {
        let file = try storing(try plan.originalCache.begin())
        let url = plan.request.url
        let formats = formats.gate(hasCoder: plan.coder != nil)
        guard let made = try download.file.transform(into: file, url, decryptor), made.withUnsafeBytes(formats.accepts)
        else { throw LoadError(.badImageData, url, "the decrypted bytes are not an image") }
        var decrypted = Download(file: file, response: download.response, validators: download.validators)
        decrypted.response.bytes = made.count
        decrypted.response.sha256 = []
        return decrypted
    }

    // MARK: - Transcode and commit

    /// Makes the missing variants, then commits all files.
    ///
    /// Opens the variants' files once a transcoder is free, and commits on the same disk thread without suspending, or
    /// on a store thread. So loads with open files number at most transcoders plus threads.
    private func transcodeAndCommit(_ commit: CacheCommit, _ report: inout LoadReport) async throws(LoadError) {
        var commit = commit
        guard commit.needsTranscoder else { return try await self.commit(commit, &report) }
        guard await remote?.enter() ?? true else { throw LoadError.cancelled }
        defer { remote?.leave() }
        // Reading a file from a bucket takes longer than making it again.
        let question = remote == nil ? SameBytes.Question(commit) : nil
        var isFilled = false
        // Ignore a fault of another image's file: it costs a decoding, not this job.
        if let question { isFilled = (try? sameBytes.fill(&commit, question)) ?? false }
        if !isFilled { try await transcode(&commit, &report) }
        try await self.commit(commit, &report)
        if let question { sameBytes.remember(commit, question, report.stored) }
    }

    private func transcode(_ commit: inout CacheCommit, _ report: inout LoadReport) async throws(LoadError) {
        stages.enter(.transcode)
        let start = ContinuousClock.now
        var waited = Duration.zero
        defer {
            report.timing.transcode += .now - start - waited
            report.timing.transcoderWait += waited
            report.steps?.append(LoadStep(.stage(.transcode), from: start))
            if let made = commit.transcoded {
                report.steps?.append(contentsOf: LoadStep.parts(of: made, commit.missing))
            }
            stages.leave(.transcode)
        }
        let plan = commit.plan
        guard let source = try commit.source() else { return }
        commit.transcoded = try await transcoders.transcode(failure: { LoadError($0) }) { () throws(LoadError) in
            waited = .now - start
            for _ in commit.missing { commit.outputs.append(try storing(try plan.cache.begin())) }
            var request = TranscodeRequest(
                source: source, variants: commit.missing.map(\.variant), outputs: commit.outputs.map(\.descriptor),
                scale: plan.scale, options: plan.drawing)
            request.scaleDownBytes = plan.scaleDownLimit
            request.coder = plan.coder
            return request
        }
    }

    private func commit(_ commit: CacheCommit, _ report: inout LoadReport) async throws(LoadError) {
        stages.enter(.store)
        let start = ContinuousClock.now
        defer {
            // Nothing is written if all files are cached.
            if commit.needsTranscoder { report.timing.store += .now - start }
            report.steps?.append(LoadStep(.stage(.store), from: start))
            stages.leave(.store)
        }
        guard !Task.isCancelled else { throw LoadError.cancelled }
        if let remote {
            report.stored = try await remote.run { () throws(LoadError) in try commit.run() }
        } else {
            report.stored = try commit.run()
        }
        if report.isUnchanged, let original = report.stored.firstIndex(where: { $0.name == nil }) {
            report.stored[original].unchanged = true
        }
    }

    /// Whether a failed load blocks its URL. Cancelled loads, faults of this machine and failures before or after the
    /// work on the image never do.
    private func shouldBlock(_ plan: LoadPlan, _ error: LoadError) -> Bool {
        guard !error.isCancellation, !error.isLocalFault, !error.failure.isRefusedFormat,
            error.stage == .fetch || error.stage == .transcode
        else {
            return false
        }
        if let decide = configuration.shouldBlock { return decide(plan.request.url, error.failure) }
        return plan.source?.shouldBlock(plan.request.url, after: error.failure)
            ?? FailureClassification.of(error.failure).blocks
    }
}

extension ImageManager: CacheLoader {}
