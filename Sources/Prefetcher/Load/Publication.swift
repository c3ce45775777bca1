internal import DiskCache
internal import JobQueue
internal import Transcoder

/// A body on its way into the cache.
struct Download: Sendable {
    let file: TemporaryFile
    let body: FetchedBody
}

/// Variants on their way into the cache, in the order of what was missing.
struct Transcoded: Sendable {
    let files: [TemporaryFile]
    let result: TranscodeReport
}

/// Gives a load's files their real names, the original first, so that no variant is there without it.
struct Publication: Sendable {
    let keys: LoadKeys
    let found: FoundImages
    /// Asked before each name is given; a worker that lost its lease meanwhile gives none.
    let mayPublish: @Sendable () -> Bool
    var original: Download?
    var made: Transcoded?

    /// Names every file that was made well, and tells of the others why they are not there. Blocks.
    ///
    /// - Throws: a cancelled `LoadError` when nothing may be published any more, else the store's error.
    func publish(in cache: DiskCache) throws(LoadError) -> [StoredFile] {
        var stored = [try publishOriginal(in: cache)]
        var next = 0
        for (entry, size) in zip(keys.variants, found.sizes) {
            guard let key = entry.key else {
                stored.append(Self.keyless(entry, keys.original))
                continue
            }
            var file = StoredFile(
                name: entry.variant.name, key: key.text, path: cache.layout.relativePath(of: key), bytes: size,
                origin: .cached)
            if size == nil, let made {
                try publishVariant(number: next, of: made, as: key, in: cache, &file)
                next += 1
            }
            stored.append(file)
        }
        return stored
    }

    private func publishOriginal(in cache: DiskCache) throws(LoadError) -> StoredFile {
        var file = StoredFile(
            key: keys.original.text, path: cache.layout.relativePath(of: keys.original), bytes: found.original?.size,
            origin: .cached)
        if let source = made?.result.source {
            file.format = source.format.name
            file.width = source.width
            file.height = source.height
        }
        if let original {
            try publish(original.file, as: keys.original, in: cache)
            file.origin = .downloaded
            file.bytes = Int(original.body.bytes)
            file.sha256 = original.body.sha256Hex
        }
        return file
    }

    private func publishVariant(
        number: Int, of made: Transcoded, as key: CacheKey, in cache: DiskCache, _ file: inout StoredFile
    ) throws(LoadError) {
        switch made.result.variants[number] {
        case .success(let variant):
            try publish(made.files[number], as: key, in: cache)
            file.origin = variant.copied ? .copied : .transcoded
            file.bytes = variant.bytes
            file.format = variant.format.name
            file.width = variant.width
            file.height = variant.height
        case .failure(let error):
            file.path = nil
            file.origin = nil
            file.error = FailureReason(
                domain: error.domain, code: error.code.rawValue,
                message: "variant \(file.name ?? ""): \(error.message)")
        }
    }

    /// The slow half first, then the question, then the name: as little as can be lies between the last two.
    private func publish(_ file: TemporaryFile, as key: CacheKey, in cache: DiskCache) throws(LoadError) {
        do throws(StoreError) { try cache.finish(file) } catch { throw LoadError(error) }
        guard mayPublish() else { throw LoadError.cancelled }
        do throws(StoreError) { try cache.name(file, as: key) } catch { throw LoadError(error) }
    }

    private static func keyless(_ entry: LoadKeys.Entry, _ original: CacheKey) -> StoredFile {
        StoredFile(
            name: entry.variant.name, key: original.text,
            error: FailureReason(
                domain: "LarderErrorDomain", code: 401,
                message: "variant \(entry.variant.name): this URL and these transformers make no cache key"))
    }
}
