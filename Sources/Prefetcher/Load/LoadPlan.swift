internal import DiskCache
internal import Downloader
internal import FoundationEssentials
internal import ImageModel
internal import Transcoder

/// A load request with options and context resolved to keys, caches and parts.
///
/// All come from one processed request, so a key always matches the image made for it (not guaranteed in SDWebImage
/// 5.21.5).
struct LoadPlan: Sendable {
    /// A variant and its key; nil if the cache's naming cannot make one.
    struct Entry: Sendable {
        let variant: Variant
        let key: CacheKey?
        /// Why there is no key.
        let refusal: String
        let recipe: String
    }

    /// SDWebImage's limit for ScaleDownLargeImages, in bytes of decoded pixels.
    private static let defaultScaleDownLimit = 60 << 20

    let request: LoadRequest
    let blocklist: any Blocklist
    /// Nil if the key filter refused the URL: nothing is then looked up or stored.
    let originalKey: CacheKey?
    let variants: [Entry]
    let cache, originalCache: any ImageStore
    let memory: MemoryCache<Data>?
    /// Lookup and store locations after options, missing keys and a missing memory cache are applied.
    let originalQuery, variantQuery, originalStore, variantStore: LoadContext.CacheType
    /// Pixels per point.
    let scale: Double
    let scaleDownLimit: Int?
    /// How animations and vector images are drawn.
    let drawing: TranscodeRequest.Options
    /// The context's source, else the last one that can load the URL.
    let source: (any ImageSource)?
    let coder: String?
    let requestModifier: RequestModifier?
    let responseModifier: ResponseModifier?
    let decryptor: DataTransform?
    let serializer: DataTransform?

    /// - Throws: `LoadError` 105 for a part that the configuration lacks.
    init(
        _ original: LoadRequest, _ configuration: ImageManager.Configuration, _ ownCache: any ImageStore,
        _ plans: VariantPlans = VariantPlans()
    ) throws(LoadError) {
        var request = original
        if let processed = configuration.optionsProcessor?(original) {
            // The processor may return a new request. It cannot change the following fields.
            request = processed
            request.progress = processed.progress ?? original.progress
            request.partial = processed.partial ?? original.partial
            request.blocklist = original.blocklist
            request.mayPublish = original.mayPublish
            request.recordsSteps = original.recordsSteps
        }
        self.request = request
        blocklist = request.blocklist ?? configuration.blocklist
        memory = configuration.memory
        let context = request.context
        let options = request.options

        let caches = ImageManager.Configuration.Replaceable(own: ownCache, named: configuration.caches)
        cache = try Self.part(context.cache, caches, "imageCache") ?? ownCache
        let separateCache = try Self.part(
            context.originalCache, .init(own: cache, named: configuration.caches), "originalImageCache")
        source =
            try Self.part(context.source, .init(named: configuration.namedSources), "imageLoader")
            ?? configuration.sources.last { $0.canLoad(request.url) }
        coder = context.coder
        if let coder, configuration.limits.coder(named: coder) == nil {
            throw LoadError.notConfigured("imageCoder", coder)
        }
        requestModifier = try Self.part(
            context.requestModifier, configuration.requestModifier, "downloadRequestModifier", { $0.modifier })
        responseModifier = try Self.part(
            context.responseModifier, configuration.responseModifier, "downloadResponseModifier", { $0.modifier })
        decryptor = try Self.part(context.decryptor, configuration.decryptor, "downloadDecryptor")
        serializer = try Self.part(context.serializer, configuration.serializer, "cacheSerializer")

        let filter = try Self.part(context.keyFilter, configuration.keyFilter, "cacheKeyFilter")
        let made = request.keyRule?.key(of: request.url) ?? request.url
        let key = (filter.map { $0(request.url) } ?? made).map { CacheKey($0) }
        originalKey = key
        let naming = cache.naming
        let wanted = context.result.map { request.variants + [$0] } ?? request.variants
        variants = Self.entries(plans.plans(of: wanted, naming), of: key, naming)

        // Without variants the original is the result: SDWebImage's `imageCache`, `queryCacheType` and `storeCacheType`
        // apply to it, not the keys for a transformer's original.
        let isPlain = variants.isEmpty
        originalCache = isPlain ? cache : separateCache ?? cache
        let available: LoadContext.CacheType = key == nil ? .none : memory == nil ? .disk : .all
        variantStore = context.store.intersection(available)
        originalStore = isPlain ? variantStore : context.originalStore.intersection(available)
        // RefreshCached revalidates the disk's original.
        let queried =
            options.contains(.fromLoaderOnly)
            ? .none : available.subtracting(options.contains(.refreshCached) ? .memory : .none)
        variantQuery = context.query.intersection(queried)
        originalQuery = isPlain ? variantQuery : context.originalQuery.intersection(queried)

        drawing = options.drawing.union(context.usesAnimatedImage ? .keepsAnimation : [])
            .union(context.encodesFirstFrame ? .encodesFirstFrame : [])
        scale = context.scale ?? Double(key.map(naming.scaleFactor) ?? 1)
        let limit =
            context.scaleDownLimit ?? (options.contains(.scaleDownLargeImages) ? Self.defaultScaleDownLimit : nil)
        scaleDownLimit = limit == 0 ? nil : limit
    }

    /// Whether an original found on disk is added to the memory cache.
    ///
    /// `storeCacheType` decides, also for the original query. If the image is decoded at a thumbnail size, memory keeps
    /// it under the thumbnail's key only, and `originalStoreCacheType` decides. Source: SDWebImage 5.21.5,
    /// `queryCacheOperationForKey:`, `_syncDiskToMemoryWithImage:` and `callStoreOriginCacheProcessForOperation:`.
    ///
    /// - Parameter isMissed: whether a variant is missing; otherwise SDWebImage does not query the original.
    func remembersOriginal(isMissed: Bool) -> Bool {
        if variants.isEmpty { return variantStore.contains(.memory) }
        return isMissed && variants.contains { $0.variant.thumbnail == nil }
            && variantStore.union(originalStore).contains(.memory)
    }

    /// The variants' keys. Some namings map two variants to one key; the second is then refused, as is a variant with
    /// the file name of the original or of another variant.
    private static func entries(
        _ plans: [VariantPlans.Plan], of key: CacheKey?, _ naming: any CacheNaming
    ) -> [Entry] {
        var seen: Set<CacheKey> = []
        var names = Set(naming.mayShareNames ? [key.map(naming.fileName)].compactMap(\.self) : [])
        return plans.map { plan in
            var refusal = "this URL and these transformers make no cache key"
            var found: CacheKey?
            switch plan.suffixes {
            case .success(let suffixes): found = key.flatMap { naming.variantKey(of: $0, suffixes: suffixes) }
            case .failure(let error): refusal = "\(error)"
            }
            if let same = found, !seen.insert(same).inserted {
                found = nil
                refusal = "another variant has the same cache key; give one a keySuffix"
            }
            if naming.mayShareNames, let name = found.map(naming.fileName), !names.insert(name).inserted {
                found = nil
                refusal = "another variant or the original has the file name \(name); add {variant} to the template"
            }
            return Entry(variant: plan.variant, key: found, refusal: refusal, recipe: plan.recipe)
        }
    }

    private static func part<Part, Described>(
        _ choice: LoadContext.Choice<Described>, _ parts: ImageManager.Configuration.Replaceable<Part>,
        _ kind: String, _ make: ((Described) -> Part)? = nil
    ) throws(LoadError) -> Part? {
        switch choice {
        case .own: return parts.own
        case .none: return nil
        case .described(let description): return make?(description)
        case .named(let name):
            guard let part = parts.named[name] else { throw LoadError.notConfigured(kind, name) }
            return part
        }
    }
}

extension RequestChange {
    fileprivate var modifier: RequestModifier {
        { request in
            var request = request
            request.method = method ?? "GET"
            for (name, value) in headers.sorted(by: { $0.key < $1.key }) { request.headers[name] = value }
            request.body = body.map { Array($0.utf8) }
            return request
        }
    }
}

extension ResponseChange {
    fileprivate var modifier: ResponseModifier {
        { response in
            var response = response
            response.status = status ?? response.status
            for (name, value) in headers.sorted(by: { $0.key < $1.key }) { response.headers[name] = value }
            return response
        }
    }
}

/// Whether a load uses the cache or downloads.
///
/// Source: SDWebImage 5.21.5, `SDWebImageManager`, its query, original query and download steps.
enum CacheDecision: Sendable, Equatable {
    /// Everything requested is cached or can be made from the cached original.
    case useCached
    /// Ask the source whether the cached original is current.
    case revalidate
    case download
    /// Nothing is cached and no download is allowed. Not an error.
    case unavailable

    /// - Parameters:
    ///   - hasOriginal: whether the original is cached.
    ///   - wanted: the number of variants.
    ///   - missing: the number of uncached variants.
    ///   - refreshes: whether RefreshCached is set.
    ///   - mayDownload: whether hook, options and sources allow a download.
    init(hasOriginal: Bool, wanted: Int, missing: Int, refreshes: Bool, mayDownload: Bool) {
        // Cached variants suffice without their original.
        let isComplete = missing == 0 && wanted > 0
        if mayDownload && refreshes {
            self = hasOriginal ? .revalidate : .download
        } else if hasOriginal || isComplete {
            self = .useCached
        } else {
            self = mayDownload ? .download : .unavailable
        }
    }
}
