internal import Concurrency
internal import DiskCache
internal import Downloader
private import Foundation
private import Glibc
internal import ImageModel
internal import Transcoder

/// The stages of a load, each on the threads it needs.
extension ImageManager {
    func lookUp(_ plan: LoadPlan, _ files: OpenFiles) async throws(LoadError) -> FoundImages {
        do throws(StoreError) {
            return try await disk.run { [gate] () throws(StoreError) in
                let found = try FoundImages(plan, looksLikeImage: gate.judge)
                if let original = found.original { files.keep(original) }
                return found
            }
        } catch {
            throw LoadError(error, stage: .lookUp)
        }
    }

    /// Brings the original from `source`.
    ///
    /// - Parameter cached: an original that may still be right (SDWebImage 5.21.5, SDWebImageRefreshCached).
    /// - Returns: nil when `cached` is what the source has.
    func fetch(
        _ plan: LoadPlan, from source: (any ImageSource)?, unlike cached: OpenFile?, _ files: OpenFiles,
        _ report: inout LoadReport
    ) async throws(LoadError) -> Download? {
        guard let source else { throw LoadError.noURL }
        let known = try await validators(of: cached)
        let request = try request(plan, known)
        let file = try await makeFile(in: plan.originalCache, files)
        let start = ContinuousClock.now
        let response: FetchResponse
        do throws(LoadError) {
            response = try await source.load(request, options: plan.options, into: file.descriptor)
            report.timing.fetch += .now - start
        } catch {
            report.timing.fetch += .now - start
            throw error.carrying(report)
        }
        guard !response.isNotModified else {
            report.isUnchanged = true
            return nil
        }
        report.downloads = 1
        report.bytesIn = response.bytes
        report.httpStatus = response.status
        report.robotsTag = response.robotsTag
        let validators = Validators(
            etag: response.etag, lastModified: response.lastModified, sha256: SHA256Digest.hex(response.sha256))
        if let cached, let known, known.sha256 == validators.sha256 {
            // By what its server calls it now, the next question need not be answered with the whole body.
            if known != validators { await disk.run { validators.note(at: cached) } }
            report.isUnchanged = true
            return nil
        }
        let download = Download(
            file: file, bytes: response.bytes, sha256: response.sha256, validators: validators, robots: response.robots)
        guard let decryptor = plan.decryptor else { return download }
        return try await decrypt(download, decryptor, plan, files, report)
    }

    /// Makes the variants and stores everything; nil when the cached original does not decode, which is a miss.
    func useCached(
        _ found: FoundImages, _ plan: LoadPlan, _ files: OpenFiles, _ report: inout LoadReport
    ) async throws(LoadError) -> LoadReport? {
        do throws(LoadError) {
            return try await transcodeAndStore(CacheCommit(plan, found), files, &report)
        } catch {
            guard error.isUndecodable else { throw error }
            return nil
        }
    }

    /// The two stages that hold the variants' files open: few loads are in them at once, as thirty-two files for each
    /// slot would be more than a process may have.
    func transcodeAndStore(
        _ publication: CacheCommit, _ files: OpenFiles, _ report: inout LoadReport
    ) async throws(LoadError) -> LoadReport {
        guard publication.needsTranscoder else { return try await store(publication, &report) }
        guard await transcodePermits.acquire() else { throw LoadError.cancelled.carrying(report) }
        defer { transcodePermits.release() }
        var publication = publication
        publication.made = try await transcode(publication, files, &report)
        return try await store(publication, &report)
    }

    // MARK: - Parts of stages

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
        request.credentials = plan.credentials
        request.validators = known
        request.rules.modifier = plan.responseModifier
        if let progress = plan.progress {
            request.progress = { step in if step.hasResponse { progress(step.received, step.expected) } }
        }
        // Encrypted bytes have no image format.
        if plan.decryptor == nil { request.inspects = gate.inspect }
        guard let modifier = plan.requestModifier else { return request }
        guard let modified = modifier(request) else { throw LoadError.invalidOperation(plan.url) }
        return modified
    }

    private func validators(of cached: OpenFile?) async throws(LoadError) -> Validators? {
        guard let cached else { return nil }
        do throws(StoreError) {
            return try await disk.run { () throws(StoreError) in try Validators(of: cached) }
        } catch {
            throw LoadError(error, stage: .lookUp)
        }
    }

    private func decrypt(
        _ download: Download, _ decryptor: @escaping DataTransform, _ plan: LoadPlan, _ files: OpenFiles,
        _ report: LoadReport
    ) async throws(LoadError) -> Download {
        let file = try await makeFile(in: plan.originalCache, files)
        return try await disk.run { [gate] () throws(LoadError) in
            guard let written = try download.file.transform(into: file, plan.url, decryptor),
                file.isAccepted(by: gate)
            else { throw LoadError.badImage(plan.url, "what was decrypted is no picture").carrying(report) }
            return Download(
                file: file, bytes: written, sha256: nil, validators: download.validators, robots: download.robots)
        }
    }

    private func transcode(
        _ publication: CacheCommit, _ files: OpenFiles, _ report: inout LoadReport
    ) async throws(LoadError) -> Transcoded {
        let start = ContinuousClock.now
        let plan = publication.plan
        let missing = publication.missing
        var outputs: [TemporaryFile] = []
        for _ in missing { outputs.append(try await makeFile(in: plan.cache, files)) }
        do throws(TranscodeError) {
            var request = TranscodeRequest(
                source: publication.source, variants: missing.map(\.variant), outputs: outputs.map(\.descriptor),
                scale: plan.scale,
                transformsAnimated: !plan.options.isDisjoint(with: [.transformAnimatedImage, .decodeFirstFrameOnly]))
            request.scaleDownBytes = plan.scaleDownLimit
            let result = try await transcoders.transcode(request)
            report.timing.transcode += .now - start
            return Transcoded(files: outputs, result: result)
        } catch {
            report.timing.transcode += .now - start
            throw LoadError(error).carrying(report)
        }
    }

    private func store(
        _ publication: CacheCommit, _ report: inout LoadReport
    ) async throws(LoadError) -> LoadReport {
        let start = ContinuousClock.now
        guard !Task.isCancelled else { throw LoadError.cancelled.carrying(report) }
        do throws(LoadError) {
            report.stored = try await disk.run { () throws(LoadError) in try publication.publish() }
            if report.isUnchanged, let original = report.stored.firstIndex(where: { $0.name == nil }) {
                report.stored[original].unchanged = true
            }
            report.timing.store += .now - start
            return report
        } catch {
            throw error.carrying(report)
        }
    }

    private func makeFile(in cache: any ImageStore, _ files: OpenFiles) async throws(LoadError) -> TemporaryFile {
        do throws(StoreError) {
            return try await disk.run { () throws(StoreError) in
                let file = try cache.begin()
                files.keep(file)
                return file
            }
        } catch {
            throw LoadError(error)
        }
    }
}
