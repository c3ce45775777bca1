internal import DiskCache
internal import Downloader
internal import ImageModel
internal import Transcoder

/// A load with its options and context worked out: under which keys, in which caches, by which parts.
///
/// Options, keys and parts come from one processed request, so that a key never promises what is not done
/// (SDWebImage 5.21.5 has that fault: spec 2.3).
struct LoadPlan: Sendable {
    /// A variant and its key; nil when SDWebImage's rules make no key for it.
    struct Entry: Sendable {
        let variant: Variant
        let key: CacheKey?
    }

    /// SDWebImage's limit for ScaleDownLargeImages, in bytes of decoded pixels.
    private static let scaleDownLimit = 60 << 20

    let url: String
    let options: LoadOptions
    /// Nil when the key filter refused: then nothing is looked up or stored.
    let originalKey: CacheKey?
    let variants: [Entry]
    let cache: any ImageStore
    let originalCache: any ImageStore
    let looksUpOriginal, looksUpVariants, storesOriginal: Bool
    /// Whether variants get files; without, they may yet be kept in memory.
    let writesVariants: Bool
    /// The memory in front of the caches; nil where the manager has none.
    let memory: MemoryTier?
    /// Pixels per point.
    let scale: Double
    let scaleDownLimit: Int?
    /// The source that the context names; nil asks the manager's.
    let source: (any ImageSource)?
    let requestModifier: RequestModifier?
    let responseModifier: ResponseModifier?
    let decryptor: DataTransform?
    let serializer: DataTransform?
    let credentials: String?
    let progress: (@Sendable (Int64, Int64?) -> Void)?
    let mayPublish: @Sendable () -> Bool

    /// Works a processed request out.
    ///
    /// - Throws: `LoadError` 105 for a part that the context names and the manager does not have.
    init(_ request: LoadRequest, _ parts: ManagerParts, _ cache: any ImageStore) throws(LoadError) {
        let context = request.context
        url = request.url
        options = request.options
        self.cache = try Self.cache(context.cache, parts, own: cache, "imageCache")
        originalCache = try Self.cache(context.originalCache, parts, own: self.cache, "originalImageCache")

        let filter = try Self.part(context.keyFilter, parts.keyFilter, "cacheKeyFilter")
        let baseKey: String? = if let filter { filter(request.url) } else { request.url }
        let original = baseKey.map { CacheKey($0) }
        originalKey = original
        let naming = self.cache.naming
        variants = (request.variants + (context.result.map { [$0] } ?? [])).map { variant in
            Entry(variant: variant, key: original.flatMap { naming.variantKey(of: $0, suffixes: variant.keySuffixes) })
        }
        let queries = !options.contains(.fromLoaderOnly) && original != nil
        looksUpOriginal = queries && context.originalQuery.includesDisk
        looksUpVariants = queries && context.query.includesDisk
        storesOriginal = original != nil && context.originalStore.includesDisk
        writesVariants = original != nil && context.store.includesDisk
        let wantsVariants = !variants.isEmpty
        memory = parts.memory.map { MemoryTier($0, request, wantsVariants: wantsVariants) }

        scale = context.scale ?? Double(original?.scaleFactor ?? 1)
        scaleDownLimit =
            context.scaleDownLimit ?? (options.contains(.scaleDownLargeImages) ? Self.scaleDownLimit : nil)
        source = try Self.source(context.source, parts)
        requestModifier = try Self.requestModifier(context.requestModifier, parts)
        responseModifier = try Self.responseModifier(context.responseModifier, parts)
        decryptor = try Self.part(context.decryptor, parts.decryptor, "downloadDecryptor")
        serializer = try Self.part(context.serializer, parts.serializer, "cacheSerializer")
        credentials = context.credentials
        progress = request.progress
        mayPublish = request.mayPublish
    }

    /// Whether variants go anywhere: only then are they made.
    var storesVariants: Bool { writesVariants || originalKey != nil && memory?.keepsResults == true }

    // MARK: - Choosing parts

    private static func missing(_ kind: String, _ name: String) -> LoadError {
        LoadError(
            stage: .lookUp, domain: "LarderErrorDomain", code: 105,
            message: "the context names the \(kind) '\(name)', which is not configured here")
    }

    private static func part<Part>(
        _ choice: LoadContext.Choice<LoadContext.Nothing>, _ kind: ManagerParts.Kind<Part>, _ name: String
    ) throws(LoadError) -> Part? {
        switch choice {
        case .own: return kind.own
        case .none: return nil
        case .named(let chosen):
            guard let part = kind.named[chosen] else { throw missing(name, chosen) }
            return part
        }
    }

    private static func cache(
        _ choice: LoadContext.Choice<LoadContext.Nothing>, _ parts: ManagerParts, own: any ImageStore, _ name: String
    ) throws(LoadError) -> any ImageStore {
        try part(choice, ManagerParts.Kind(own: own, named: parts.caches), name) ?? own
    }

    private static func source(
        _ choice: LoadContext.Choice<LoadContext.Nothing>, _ parts: ManagerParts
    ) throws(LoadError) -> (any ImageSource)? {
        guard case .named(let name) = choice else { return nil }
        guard let source = parts.namedSources[name] else { throw missing("imageLoader", name) }
        return source
    }

    private static func requestModifier(
        _ choice: LoadContext.Choice<RequestChange>, _ parts: ManagerParts
    ) throws(LoadError) -> RequestModifier? {
        switch choice {
        case .own: return parts.requestModifier.own
        case .none: return nil
        case .named(let name):
            guard let modifier = parts.requestModifier.named[name] else {
                throw missing("downloadRequestModifier", name)
            }
            return modifier
        case .described(let change):
            return { request in
                var request = request
                request.method = change.method ?? "GET"
                for (name, value) in change.headers.sorted(by: { $0.key < $1.key }) { request.headers[name] = value }
                request.body = change.body.map { Array($0.utf8) }
                return request
            }
        }
    }

    private static func responseModifier(
        _ choice: LoadContext.Choice<ResponseChange>, _ parts: ManagerParts
    ) throws(LoadError) -> ResponseModifier? {
        switch choice {
        case .own: return parts.responseModifier.own
        case .none: return nil
        case .named(let name):
            guard let modifier = parts.responseModifier.named[name] else {
                throw missing("downloadResponseModifier", name)
            }
            return modifier
        case .described(let change):
            return { response in
                var response = response
                response.status = change.status ?? response.status
                for (name, value) in change.headers.sorted(by: { $0.key < $1.key }) { response.headers[name] = value }
                return response
            }
        }
    }
}
