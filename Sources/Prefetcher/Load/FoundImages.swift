internal import DiskCache
internal import JobQueue

/// What of a load lies in the cache already.
struct FoundImages: Sendable {
    /// The original, open for reading, when it is there.
    let original: OpenFile?
    /// One for each variant of the load: its size when its file is there.
    let sizes: [Int?]

    /// Looks the original and every variant up, and touches what is there (spec 2.5, 2.6, 4.3). Blocks.
    init(_ keys: LoadKeys, in cache: DiskCache) throws(StoreError) {
        original = try cache.read(keys.original)
        sizes = try keys.variants.map { (entry) throws(StoreError) in
            guard let key = entry.key else { return nil }
            return try cache.read(key)?.size
        }
    }

    /// The variants that have a key and no file.
    func missing(_ keys: LoadKeys) -> [LoadKeys.Entry] {
        zip(keys.variants, sizes).compactMap { entry, size in size == nil && entry.key != nil ? entry : nil }
    }
}
