internal import DiskCache
internal import Foundation
internal import ImageModel
private import Transcoder

/// The memory in front of the disk, as far as one load uses it: the bytes of what is stored, by cache key.
///
/// It answers a load whole or not at all: what is asked for besides makes the disk be asked for everything.
/// Source: SDWebImage 5.21.5, `SDImageCache`: memory first, filled by stores and by hits on the disk.
struct MemoryTier: Sendable {
    let cache: MemoryCache<Data>
    /// Whether the load's results are looked up: its variants, or the original where it wants none.
    let isAsked: Bool
    let keepsResults, keepsOriginal: Bool

    init(_ cache: MemoryCache<Data>, _ request: LoadRequest, wantsVariants: Bool) {
        let context = request.context
        self.cache = cache
        // RefreshCached is about what the origin has.
        isAsked = context.query.includesMemory && request.options.isDisjoint(with: [.fromLoaderOnly, .refreshCached])
        keepsResults = context.store.includesMemory
        keepsOriginal = context.originalStore.includesMemory || !wantsVariants && keepsResults
    }

    /// All that the load wants; nil when some of it is not there. Paths are left out, for nobody asked the disk.
    func answer(_ plan: LoadPlan) -> [StoredFile]? {
        guard isAsked, let original = plan.originalKey else { return nil }
        if plan.variants.isEmpty { return file(nil, original).map { [$0] } }
        var files: [StoredFile] = []
        for entry in plan.variants {
            guard let key = entry.key, let file = file(entry.variant.name, key) else { return nil }
            files.append(file)
        }
        return files
    }

    private func file(_ name: String?, _ key: CacheKey) -> StoredFile? {
        cache.value(for: key).map { StoredFile(name: name, key: key.text, bytes: $0.count, origin: .cached) }
    }

    /// Remembers the bytes that lie under a key.
    func keep(_ bytes: Data, as key: CacheKey) { cache.store(bytes, for: key, cost: bytes.count) }

    /// Remembers what was found on the disk. Blocks.
    func keep(_ file: OpenFile, as key: CacheKey) throws(StoreError) {
        if !cache.contains(key) { keep(Data(try file.bytes(file.size)), as: key) }
    }
}
