internal import DiskCache
internal import Downloader
internal import ImageModel
internal import Transcoder

/// An original on its way into the cache.
struct Download: Sendable {
    let file: TemporaryFile
    let bytes: Int
    /// Of the file's bytes; nil when they are not those that were downloaded.
    let sha256: [UInt8]?
    let validators: Validators
    /// What the origin wants of robots, when it said anything.
    let robots: String?
}

/// Variants on their way into the cache, in the order of what was missing.
struct Transcoded: Sendable {
    let files: [TemporaryFile]
    let result: TranscodeReport
}

/// Gives a load's files their real names, the original first, so that no variant is there without it.
struct CacheCommit: Sendable {
    let plan: LoadPlan
    let found: FoundImages
    /// A new original, if there is one.
    let original: Download?
    /// The variants to make.
    let missing: [LoadPlan.Entry]
    var made: Transcoded?

    init(_ plan: LoadPlan, _ found: FoundImages, _ original: Download? = nil) {
        self.plan = plan
        self.found = found
        self.original = original
        missing = found.missing(plan)
    }

    /// A new original is decoded even when no variant is made of it: what does not decode is not stored.
    var needsTranscoder: Bool { original != nil || !missing.isEmpty }

    /// The original to decode; -1 when there is none, and nothing to decode.
    var source: Int32 { original?.file.descriptor ?? found.original?.descriptor ?? -1 }

    /// Names every file that was made well, and tells of the others why they are not there. Blocks.
    ///
    /// - Throws: a cancelled `LoadError` when nothing may be published any more, else the store's error.
    func publish() throws(LoadError) -> [StoredFile] {
        var stored = try publishOriginal().map { [$0] } ?? []
        var next = 0
        for (entry, size) in zip(plan.variants, found.sizes) {
            guard let key = entry.key else {
                if let original = plan.originalKey { stored.append(Self.keyless(entry, original)) }
                continue
            }
            var file = StoredFile(
                name: entry.variant.name, key: key.text, path: plan.cache.layout.relativePath(of: key), bytes: size,
                origin: .cached)
            if size == nil {
                guard plan.storesVariants, let made else { continue }
                try publishVariant(number: next, of: made, as: key, &file)
                next += 1
            }
            stored.append(file)
        }
        return stored
    }

    /// Nil when the original is not in the cache and does not go there.
    private func publishOriginal() throws(LoadError) -> StoredFile? {
        let isKept = plan.memory?.keepsOriginal == true
        guard let key = plan.originalKey, found.original != nil || original != nil && (plan.storesOriginal || isKept)
        else { return nil }
        var file = StoredFile(
            key: key.text, path: plan.originalCache.layout.relativePath(of: key), bytes: found.original?.size,
            origin: .cached)
        if let source = made?.result.source {
            file.format = source.format.name
            file.width = source.width
            file.height = source.height
        }
        file.digest = made?.result.digest
        if let original, plan.storesOriginal || isKept {
            original.validators.keep(with: original.file)
            let published = try publish(
                original.file, as: key, in: plan.storesOriginal ? plan.originalCache : nil, remembered: isKept,
                original.validators, sha256: original.sha256)
            if !plan.storesOriginal { file.path = nil }
            file.origin = .downloaded
            file.bytes = published.serialized ?? original.bytes
            file.sha256 = published.sha256
            file.robots = original.robots
        }
        return file
    }

    private func publishVariant(
        number: Int, of made: Transcoded, as key: CacheKey, _ file: inout StoredFile
    ) throws(LoadError) {
        switch made.result.variants[number] {
        case .success(let variant):
            let published = try publish(
                made.files[number], as: key, in: plan.writesVariants ? plan.cache : nil,
                remembered: plan.memory?.keepsResults == true, nil, sha256: nil)
            if !plan.writesVariants { file.path = nil }
            file.origin = variant.copied ? .copied : .transcoded
            file.bytes = published.serialized ?? variant.bytes
            file.sha256 = published.sha256
            file.format = variant.format.name
            file.width = variant.width
            file.height = variant.height
            file.replaced = variant.replaced?.name
            file.exceedsMaxBytes = variant.exceedsMaxBytes ? true : nil
        case .failure(let error):
            file.path = nil
            file.origin = nil
            file.error = FailureReason(
                domain: error.domain, code: error.code.rawValue,
                message: "variant \(file.name ?? ""): \(error.message)")
        }
    }

    /// The slow half first, then the question, then the name: as little as can be lies between the last two.
    ///
    /// - Parameters:
    ///   - cache: where it gets its name; nil gives it none.
    ///   - remembered: whether it goes into memory.
    ///   - sha256: of the file's bytes, where that is known.
    /// - Returns: the length of what the load's serializer made of it, if it did; the digest of what was published.
    private func publish(
        _ file: TemporaryFile, as key: CacheKey, in cache: DiskCache?, remembered: Bool, _ validators: Validators?,
        sha256: [UInt8]?
    ) throws(LoadError) -> (serialized: Int?, sha256: String?) {
        let (file, length) = try serialize(file, in: cache ?? plan.cache, validators)
        let known = length == nil ? sha256 : nil
        let digest = known.map(SHA256Digest.hex) ?? SHA256Digest.hex(ofFile: file.descriptor)
        do throws(StoreError) { try cache?.finish(file) } catch { throw LoadError(error) }
        guard plan.mayPublish() else { throw LoadError.cancelled }
        do throws(StoreError) { try cache?.name(file, as: key) } catch { throw LoadError(error) }
        if remembered, let memory = plan.memory { memory.keep(try file.contents(), as: key) }
        return (length, digest)
    }

    /// Asked once for each key, not twice for a plain original as SDWebImage does.
    private func serialize(
        _ file: TemporaryFile, in cache: DiskCache, _ validators: Validators?
    ) throws(LoadError) -> (TemporaryFile, Int?) {
        guard let serializer = plan.serializer else { return (file, nil) }
        let target: TemporaryFile
        do throws(StoreError) { target = try cache.makeTemporaryFile() } catch { throw LoadError(error) }
        validators?.keep(with: target)
        guard let length = try file.transform(into: target, plan.url, serializer) else { return (file, nil) }
        return (target, length)
    }

    private static func keyless(_ entry: LoadPlan.Entry, _ original: CacheKey) -> StoredFile {
        StoredFile(
            name: entry.variant.name, key: original.text,
            error: FailureReason(
                domain: "LarderErrorDomain", code: 401,
                message: "variant \(entry.variant.name): this URL and these transformers make no cache key"))
    }
}
