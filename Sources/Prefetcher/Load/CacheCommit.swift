internal import DiskCache
internal import Downloader
internal import FoundationEssentials
internal import ImageModel
internal import Transcoder

/// Moves the files of a load into the cache: the original first, so that no variant is stored without it.
struct CacheCommit: Sendable {
    let plan: LoadPlan
    let cached: CachedImages
    let original: Download?
    /// The missing variants, if the plan stores any.
    let missing: [LoadPlan.Entry]
    /// The memory cache's original, written to a file for the transcoder.
    private var remembered: TemporaryFile?
    var outputs: [TemporaryFile] = []
    /// Transcoder results for `missing`.
    var transcoded: TranscodeReport?
    /// True if the outputs are copies of files made from the same bytes under another URL.
    var isReused = false

    init(_ plan: LoadPlan, _ cached: CachedImages, _ original: Download? = nil) {
        self.plan = plan
        self.cached = cached
        self.original = original
        missing = plan.variantStore.isEmpty ? [] : cached.missing(plan)
    }

    /// A new original is decoded even without variants, because an undecodable one is not stored.
    var needsTranscoder: Bool { original != nil || !missing.isEmpty }

    /// The original to read; nil if there is none. Blocks.
    mutating func source() throws(LoadError) -> Int32? {
        switch (original, cached.original) {
        case (let original?, _): return original.file.descriptor
        case (nil, .stored(let file)): return file.descriptor
        case (nil, .remembered(let bytes)):
            let file = try storing(try plan.originalCache.begin())
            try storing(
                try bytes.withUnsafeBytes { bytes in Result { () throws(StoreError) in try file.write(bytes) } }.get())
            remembered = file
            return file.descriptor
        case (nil, nil): return nil
        }
    }

    /// Stores all new files. Blocks.
    ///
    /// - Returns: the original and every variant, including failed ones.
    /// - Throws: a cancelled `LoadError` if the request may publish nothing, else the store's error.
    func run() throws(LoadError) -> [StoredFile] {
        var stored = try commitOriginal().map { [$0] } ?? []
        var made = zip(outputs, transcoded?.variants ?? []).makeIterator()
        for (entry, hit) in zip(plan.variants, cached.variants) {
            if let key = entry.key {
                var file = StoredFile(name: entry.variant.name, key: key.text)
                if let hit {
                    file.path = hit.isRemembered ? nil : plan.cache.relativePath(of: key)
                    file.bytes = hit.size
                    file.origin = .cached
                    hit.facts.describe(&file)
                    if let recipe = file.recipe, recipe != entry.recipe { file.differs = true }
                } else if let (output, result) = made.next() {
                    do throws(LoadError) { try commitVariant(output, result, key, entry.recipe, &file) } catch {
                        // Another image took the name after the lookup; the stored file stays.
                        guard error.failure.failureCode == .nameTaken else { throw error }
                        file = StoredFile(name: entry.variant.name, key: key.text, error: error.failure)
                    }
                } else {
                    continue
                }
                stored.append(file)
            } else if let original = plan.originalKey {
                stored.append(Self.withoutKey(entry, original))
            }
        }
        return stored
    }

    /// Nil if the original is neither cached nor to be stored.
    private func commitOriginal() throws(LoadError) -> StoredFile? {
        guard let key = plan.originalKey else { return nil }
        var file = StoredFile(key: key.text, path: plan.originalCache.relativePath(of: key))
        if let original, !plan.originalStore.isEmpty {
            original.validators.save(to: original.file)
            let response = original.response
            file.bytes = response.bytes
            file.sha256 = response.sha256.isEmpty ? nil : SHA256Digest.hex(response.sha256)
            file.robots = response.robots
            file.origin = .downloaded
            describeOriginal(&file)
            try store(original.file, as: key, in: plan.originalCache, plan.originalStore, &file, original.validators)
        } else if let found = cached.original, original == nil {
            file.bytes = found.size
            file.origin = .cached
            if let stored = found.file { StoredFacts(of: stored).describe(&file) }
            if transcoded != nil { describeOriginal(&file) }
            if case .remembered = found { try publishRemembered(key, &file) }
        } else {
            return nil
        }
        return file
    }

    private func describeOriginal(_ file: inout StoredFile) {
        file.format = transcoded?.source.formatName
        file.width = transcoded?.source.width
        file.height = transcoded?.source.height
        file.digest = transcoded?.digest
    }

    /// Writes an original that only the memory cache had to the disk. SDWebImage does the same: for images from memory
    /// it leaves `originalStoreCacheType` unchanged. Source: SDWebImage 5.21.5,
    /// `callStoreOriginCacheProcessForOperation:`.
    private func publishRemembered(_ key: CacheKey, _ file: inout StoredFile) throws(LoadError) {
        file.path = nil
        guard let remembered, plan.originalStore.contains(.disk) else { return }
        try publish(remembered, as: key, in: plan.originalCache, .disk)
        file.path = plan.originalCache.relativePath(of: key)
    }

    private func commitVariant(
        _ output: TemporaryFile, _ result: Result<TranscodedVariant, TranscodeError>, _ key: CacheKey,
        _ recipe: String, _ file: inout StoredFile
    ) throws(LoadError) {
        switch result {
        case .success(let variant):
            file.path = plan.cache.relativePath(of: key)
            file.origin = variant.copied ? .copied : isReused ? .reused : .transcoded
            file.bytes = variant.bytes
            file.format = variant.format.name
            file.width = variant.width
            file.height = variant.height
            file.replaced = variant.replaced?.name
            file.exceedsMaxBytes = variant.exceedsMaxBytes ? true : nil
            file.recipe = recipe
            try store(output, as: key, in: plan.cache, plan.variantStore, &file)
        case .failure(let error):
            var reason = FailureReason(error.failureCode, "variant \(file.name ?? ""): \(error.text)")
            reason.countsTowardPoison = error.countsTowardPoison
            reason.needs = error.failure.needs
            file.error = reason
        }
    }

    /// Stores one file on disk and in memory, as `types` says, and sets the length and digest in `file`.
    ///
    /// The store checks `mayPublish` immediately before the file becomes visible.
    private func store(
        _ content: TemporaryFile, as key: CacheKey, in cache: any ImageStore, _ types: LoadContext.CacheType,
        _ file: inout StoredFile, _ validators: Validators? = nil
    ) throws(LoadError) {
        var content = content
        if let serializer = plan.serializer {
            // Called once per key; SDWebImage calls it twice for a plain original.
            let target = try storing(try cache.begin())
            validators?.save(to: target)
            if let made = try content.transform(into: target, plan.request.url, serializer) {
                content = target
                file.bytes = made.count
                file.sha256 = nil
            }
        }
        file.sha256 = file.sha256 ?? SHA256Digest.hex(ofFile: content.descriptor)
        StoredFacts(of: file).save(to: content, length: file.bytes ?? 0)
        try publish(content, as: key, in: cache, types)
        if !types.contains(.disk) { file.path = nil }
        if types.contains(.memory), let memory = plan.memory {
            let bytes = try storing(try content.bytes())
            memory.store(Data(bytes), for: key, cost: bytes.count)
        }
    }

    private func publish(
        _ content: TemporaryFile, as key: CacheKey, in cache: any ImageStore, _ types: LoadContext.CacheType
    ) throws(LoadError) {
        let mayPublish = plan.request.mayPublish
        let isPublished =
            types.contains(.disk) ? try storing(try cache.commit(content, as: key, if: mayPublish)) : mayPublish()
        guard isPublished else { throw LoadError.cancelled }
    }

    private static func withoutKey(_ entry: LoadPlan.Entry, _ original: CacheKey) -> StoredFile {
        StoredFile(
            name: entry.variant.name, key: original.text,
            error: FailureReason(.transformFailed, "variant \(entry.variant.name): \(entry.refusal)"))
    }
}
