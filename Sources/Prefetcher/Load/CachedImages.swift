internal import DiskCache
internal import Foundation
internal import ImageModel

/// What the caches have of a load.
struct CachedImages: Sendable {
    /// The images in the memory cache, when it has all requested ones. The paths are nil: the disk is not read.
    var remembered: [StoredFile]?
    /// The original on the disk, when its first bytes are those of an accepted image.
    var original: OpenFile?
    /// For each variant of the plan, the size of its file on the disk.
    var variantSizes: [Int?]

    /// No image: every variant is missing.
    static func none(_ plan: LoadPlan) -> CachedImages { CachedImages(variantSizes: plan.variants.map { _ in nil }) }

    /// Looks up what the plan queries, and touches the files found (SDWebImage 5.21.5,
    /// `callCacheProcessForOperation:`). Blocks.
    ///
    /// Source: SDWebImage 5.21.5, `SDImageCache`, and query and original query of `SDWebImageManager`.
    static func lookUp(_ plan: LoadPlan, _ formats: FormatGate) throws(LoadError) -> CachedImages {
        if let remembered = lookUpMemory(plan) { return CachedImages(remembered: remembered, variantSizes: []) }
        do throws(StoreError) {
            var cached = CachedImages.none(plan)
            if plan.originalQuery.contains(.disk), let key = plan.originalKey,
                let file = try plan.originalCache.open(key),
                file.withPrefix(ImageFormat.recognisedBytes, formats.accepts)
            {
                cached.original = file
                if plan.originalStore.contains(.memory) { try remember(file, key, plan.memory) }
            }
            guard plan.variantQuery.contains(.disk) else { return cached }
            for (index, entry) in plan.variants.enumerated() {
                guard let key = entry.key, let file = try plan.cache.open(key) else { continue }
                cached.variantSizes[index] = file.size
                if plan.variantStore.contains(.memory) { try remember(file, key, plan.memory) }
            }
            return cached
        } catch {
            throw LoadError(error, stage: .lookUp)
        }
    }

    /// The variants to make: those with a key, without a file, that the plan stores.
    func missing(_ plan: LoadPlan) -> [LoadPlan.Entry] {
        guard !plan.variantStore.isEmpty else { return [] }
        return zip(plan.variants, variantSizes).compactMap { $1 == nil && $0.key != nil ? $0 : nil }
    }

    private static func lookUpMemory(_ plan: LoadPlan) -> [StoredFile]? {
        guard let memory = plan.memory, let original = plan.originalKey, plan.variantQuery.contains(.memory) else {
            return nil
        }
        let wanted: [(String?, CacheKey?)] =
            plan.variants.isEmpty ? [(nil, original)] : plan.variants.map { ($0.variant.name, $0.key) }
        var files: [StoredFile] = []
        for (name, key) in wanted {
            guard let key, let bytes = memory.value(for: key) else { return nil }
            files.append(StoredFile(name: name, key: key.text, bytes: bytes.count, origin: .cached))
        }
        return files
    }

    private static func remember(
        _ file: OpenFile, _ key: CacheKey, _ memory: MemoryCache<Data>?
    ) throws(StoreError) {
        guard let memory, !memory.contains(key) else { return }
        memory.store(Data(try file.bytes(file.size)), for: key, cost: file.size)
    }
}
