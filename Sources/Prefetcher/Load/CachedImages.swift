internal import DiskCache
internal import FoundationEssentials
internal import ImageModel

/// Cached images of a load.
struct CachedImages: Sendable {
    enum Original: Sendable {
        /// On disk, with the first bytes of an accepted image.
        case stored(OpenFile)
        /// In the memory cache.
        case remembered(Data)

        /// In bytes.
        var size: Int {
            switch self {
            case .stored(let file): file.size
            case .remembered(let bytes): bytes.count
            }
        }

        /// Nil if the original is in memory.
        var file: OpenFile? { if case .stored(let file) = self { file } else { nil } }
    }

    struct Hit: Sendable {
        /// In bytes.
        let size: Int
        /// True if found in memory, without reading the disk.
        let isRemembered: Bool
        var facts = StoredFacts()
    }

    var original: Original?
    /// One for each variant of the plan.
    var variants: [Hit?]

    static func none(_ plan: LoadPlan) -> CachedImages { CachedImages(variants: plan.variants.map { _ in nil }) }

    /// Looks up what the plan queries, memory first, and touches the files found. Blocks.
    ///
    /// Source: SDWebImage 5.21.5, `queryCacheOperationForKey:` of `SDImageCache`, and query and original query of
    /// `SDWebImageManager`.
    static func lookUp(_ plan: LoadPlan, _ formats: FormatGate) throws(LoadError) -> CachedImages {
        do throws(StoreError) {
            var cached = CachedImages.none(plan)
            for (index, entry) in plan.variants.enumerated() {
                guard let key = entry.key else { continue }
                let hit = try variant(key, plan)
                if plan.request.options.contains(.remake), hit?.facts.recipe != entry.recipe { continue }
                cached.variants[index] = hit
            }
            // Do not read the disk if the memory has all variants.
            let isRemembered = !cached.variants.isEmpty && cached.variants.allSatisfy { $0?.isRemembered == true }
            if !isRemembered {
                cached.original = try original(plan, formats, isMissed: cached.variants.contains { $0 == nil })
            }
            return cached
        } catch {
            throw LoadError(error, stage: .lookUp)
        }
    }

    /// Variants that are not cached and have a key.
    func missing(_ plan: LoadPlan) -> [LoadPlan.Entry] {
        zip(plan.variants, variants).compactMap { $1 == nil && $0.key != nil ? $0 : nil }
    }

    private static func variant(_ key: CacheKey, _ plan: LoadPlan) throws(StoreError) -> Hit? {
        if plan.variantQuery.contains(.memory), let bytes = plan.memory?.value(for: key) {
            return Hit(size: bytes.count, isRemembered: true)
        }
        guard plan.variantQuery.contains(.disk) else { return nil }
        let mustRemember = plan.variantStore.contains(.memory) && plan.memory != nil
        guard mustRemember || plan.cache.keepsAttributes else {
            return try plan.cache.use(key).map { Hit(size: $0, isRemembered: false) }
        }
        guard let file = try plan.cache.open(key) else { return nil }
        if mustRemember { try remember(file, key, plan.memory) }
        return Hit(size: file.size, isRemembered: false, facts: StoredFacts(of: file))
    }

    /// - Parameter isMissed: whether a variant is made from the original.
    private static func original(
        _ plan: LoadPlan, _ formats: FormatGate, isMissed: Bool
    ) throws(StoreError) -> Original? {
        guard let key = plan.originalKey else { return nil }
        if plan.originalQuery.contains(.memory), let bytes = plan.memory?.value(for: key),
            bytes.withUnsafeBytes(formats.accepts)
        {
            return .remembered(bytes)
        }
        guard plan.originalQuery.contains(.disk), let file = try plan.originalCache.open(key),
            file.withPrefix(ImageFormat.recognisedBytes, formats.accepts)
        else { return nil }
        if plan.remembersOriginal(isMissed: isMissed) { try remember(file, key, plan.memory) }
        return .stored(file)
    }

    private static func remember(
        _ file: OpenFile, _ key: CacheKey, _ memory: MemoryCache<Data>?
    ) throws(StoreError) {
        guard let memory, !memory.contains(key) else { return }
        memory.store(Data(try file.bytes(file.size)), for: key, cost: file.size)
    }
}
