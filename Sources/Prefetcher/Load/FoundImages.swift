internal import DiskCache
internal import ImageModel
internal import Transcoder

/// What of a load lies in the cache already.
struct FoundImages: Sendable {
    /// The original, open for reading, when it is there and may be a picture.
    let original: OpenFile?
    /// One for each variant of the load: its size when its file is there.
    let sizes: [Int?]

    /// Looks up, as far as the load wants it, the original and every variant, and touches what is there
    /// (SDWebImage 5.21.5, query and original query of SDWebImageManager; spec 2.5, 2.6, 4.3). Blocks.
    init(_ plan: LoadPlan, looksLikeImage: (UnsafeRawBufferPointer) -> Bool?) throws(StoreError) {
        var original: OpenFile?
        if plan.looksUpOriginal, let key = plan.originalKey, let file = try plan.originalCache.open(key),
            file.withPrefix(ImageFormat.recognisedBytes, { looksLikeImage($0) == true })
        {
            original = file
            if let memory = plan.memory, memory.keepsOriginal { try memory.keep(file, as: key) }
        }
        self.original = original
        sizes = try plan.variants.map { (entry) throws(StoreError) in
            guard plan.looksUpVariants, let key = entry.key else { return nil }
            guard let file = try plan.cache.open(key) else { return nil }
            if let memory = plan.memory, memory.keepsResults { try memory.keep(file, as: key) }
            return file.size
        }
    }

    private init(sizes: [Int?]) {
        original = nil
        self.sizes = sizes
    }

    /// As if nothing were cached: a changed original makes every variant anew.
    static func nothing(_ plan: LoadPlan) -> FoundImages { FoundImages(sizes: plan.variants.map { _ in nil }) }

    /// The variants to make: those that have a key and no file, and may be stored.
    func missing(_ plan: LoadPlan) -> [LoadPlan.Entry] {
        guard plan.storesVariants else { return [] }
        return zip(plan.variants, sizes).compactMap { entry, size in size == nil && entry.key != nil ? entry : nil }
    }
}
