internal import Concurrency
internal import DiskCache
internal import Downloader
internal import ImageModel
internal import Transcoder

/// The costly stages of a load. They run on a thread that may block.
extension ImageManager {
    /// Downloads the original from `source`.
    ///
    /// - Parameter cached: a cached original to revalidate (SDWebImage 5.21.5, SDWebImageRefreshCached).
    /// - Returns: nil when the source has the same bytes as `cached`.
    func fetch(
        _ plan: LoadPlan, from source: (any ImageSource)?, unlike cached: OpenFile?, _ report: inout LoadReport
    ) async throws(LoadError) -> Download? {
        guard let source else { throw LoadError.noURL }
        let start = ContinuousClock.now
        defer { report.timing.fetch += .now - start }
        let known = try cached.map { (file) throws(LoadError) in try storing(try Validators(of: file), stage: .lookUp) }
        let request = try request(plan, known)
        let file = try storing(try plan.originalCache.begin())
        // A source's own work stays off the disk threads.
        let response = try await withTaskExecutorPreference(globalConcurrentExecutor) { () async throws(LoadError) in
            try await source.load(request, options: plan.options, into: file.descriptor)
        }
        if response.isNotModified { return nil }
        report.downloads = 1
        report.bytesIn = response.bytes
        report.httpStatus = response.status
        report.robotsTag = response.robotsTag
        let validators = Validators(
            etag: response.etag, lastModified: response.lastModified, sha256: SHA256Digest.hex(response.sha256))
        if let cached, let known, known.sha256 == validators.sha256 {
            // The server's new validators may spare the next download.
            if known != validators { validators.save(to: cached) }
            return nil
        }
        let download = Download(file: file, response: response, validators: validators)
        guard let decryptor = plan.decryptor else { return download }
        return try decrypt(download, decryptor, plan)
    }

    /// Makes the missing variants, then commits all files.
    ///
    /// The variants' files are opened once a transcoder is free, and the commit follows on the same disk thread without
    /// suspending: at most as many loads have open files as there are transcoders and disk threads.
    func transcodeAndCommit(_ commit: CacheCommit, _ report: inout LoadReport) async throws(LoadError) {
        var commit = commit
        if commit.needsTranscoder { try await transcode(&commit, &report) }
        try self.commit(commit, &report)
    }

    private func transcode(_ commit: inout CacheCommit, _ report: inout LoadReport) async throws(LoadError) {
        let start = ContinuousClock.now
        defer { report.timing.transcode += .now - start }
        let plan = commit.plan
        guard let source = commit.original?.file.descriptor ?? commit.cached.original?.descriptor else { return }
        commit.transcoded = try await transcoders.transcode(failure: { LoadError($0) }) { () throws(LoadError) in
            for _ in commit.missing { commit.outputs.append(try storing(try plan.cache.begin())) }
            var request = TranscodeRequest(
                source: source, variants: commit.missing.map(\.variant), outputs: commit.outputs.map(\.descriptor),
                scale: plan.scale,
                transformsAnimated: !plan.options.isDisjoint(with: [.transformAnimatedImage, .decodeFirstFrameOnly]))
            request.scaleDownBytes = plan.scaleDownLimit
            return request
        }
    }

    private func commit(_ commit: CacheCommit, _ report: inout LoadReport) throws(LoadError) {
        let start = ContinuousClock.now
        defer { report.timing.store += .now - start }
        guard !Task.isCancelled else { throw LoadError.cancelled }
        report.stored = try commit.run()
        if report.isUnchanged, let original = report.stored.firstIndex(where: { $0.name == nil }) {
            report.stored[original].unchanged = true
        }
    }

    private func request(_ plan: LoadPlan, _ known: Validators?) throws(LoadError) -> FetchRequest {
        var request = FetchRequest(plan.url)
        request.priority =
            switch plan.options.priority {
            case .high: .high
            case .normal: .normal
            case .low: .low
            }
        request.handlesCookies = plan.options.contains(.handleCookies)
        request.allowsInvalidCertificates = plan.options.contains(.allowInvalidSSLCertificates)
        request.credentials = plan.request.context.credentials
        request.validators = known
        request.rules.modifier = plan.responseModifier
        if let progress = plan.request.progress {
            request.progress = { step in if step.hasResponse { progress(step.received, step.expected) } }
        }
        // Encrypted bytes have no image format.
        if plan.decryptor == nil { request.inspects = formats.inspect }
        guard let modifier = plan.requestModifier else { return request }
        guard let modified = modifier(request) else {
            throw LoadError(.invalidOperation, plan.url, "the request modifier returned no request")
        }
        return modified
    }

    private func decrypt(
        _ download: Download, _ decryptor: DataTransform, _ plan: LoadPlan
    ) throws(LoadError) -> Download {
        let file = try storing(try plan.originalCache.begin())
        guard let count = try download.file.transform(into: file, plan.url, decryptor), file.isAccepted(by: formats)
        else { throw LoadError(.badImageData, plan.url, "the decrypted bytes are not an image") }
        var decrypted = Download(file: file, response: download.response, validators: download.validators)
        decrypted.response.bytes = count
        decrypted.response.sha256 = []
        return decrypted
    }
}
