public import ImageModel

/// The context of a load: SDWebImage's context without the keys that need a view.
///
/// docs/sdwebimage.md lists each key and its effect. Named parts must be in the manager's configuration. Source:
/// SDWebImage 5.21.5, `SDWebImageContext`.
public struct LoadContext: Sendable, Hashable {
    /// Where a query looks or a store writes. Raw values as in `SDImageCacheType`.
    ///
    /// `.memory` has no effect without `ImageManager.Configuration.memory`; workers have no memory cache.
    public struct CacheType: OptionSet, Sendable, Hashable {
        /// SDWebImage's number, 0 to 3.
        public let rawValue: Int

        /// The type with this SDWebImage number, 0 to 3.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// 0: no cache.
        public static let none: CacheType = []
        /// 1: the disk.
        public static let disk = CacheType(rawValue: 1)
        /// 2: the memory cache.
        public static let memory = CacheType(rawValue: 2)
        /// 3: both.
        public static let all: CacheType = [.disk, .memory]
    }

    /// Which part of the manager a load uses. `Described` is `Never` for parts that only have a name.
    public enum Choice<Described: Sendable & Hashable>: Sendable, Hashable {
        /// The manager's default part; the default.
        case own
        /// No part (`null` in JSON).
        case none
        /// The part configured under this name.
        case named(String)
        /// A part that the context itself describes.
        case described(Described)
    }

    /// The image that SDWebImage would return (thumbnail size, transformers and encoding of the context) as a variant
    /// named `result`, in addition to the pipeline's variants. Nil if the context has none of these keys.
    public var result: Variant?
    /// `imageScaleFactor`: pixels per point, at least 1. Nil reads it from the key.
    public var scale: Double?
    /// `imageScaleDownLimitBytes`: scales down images with more bytes of decoded pixels. 0 sets no limit; nil sets the
    /// limit of `ScaleDownLargeImages`, or none without that option.
    public var scaleDownLimit: Int?
    /// `animatedImageClass`: whether animations are decoded as objects that carry their original bytes, which are then
    /// stored under a thumbnail's key. `false` by default: frames are encoded again at that size.
    public var usesAnimatedImage = false
    /// `encodeFirstFrameOnly`: whether thumbnails of an animation have only the first frame, including the pipeline's;
    /// `false` by default. Objects of `animatedImageClass` are not encoded and keep all frames.
    public var encodesFirstFrame = false
    /// `queryCacheType`: where variants are looked up, `.all` by default.
    public var query = CacheType.all
    /// `storeCacheType`: where variants are stored, `.all` by default.
    public var store = CacheType.all
    /// `originalQueryCacheType`: where the original is looked up, `.disk` by default.
    public var originalQuery = CacheType.disk
    /// `originalStoreCacheType`: where the original is stored, `.disk` by default.
    public var originalStore = CacheType.disk
    /// `imageCache`: the variants' cache, and the original's unless `originalCache` names another.
    public var cache = Choice<Never>.own
    /// `originalImageCache`: the cache of the original.
    public var originalCache = Choice<Never>.own
    /// `imageLoader`: the only source to use.
    public var source = Choice<Never>.own
    /// `imageCoder`: the coder of `TranscodeLimits.coders` to use for any bytes. Nil, the default, chooses coders by
    /// their signatures.
    public var coder: String?
    /// `downloadRequestModifier`.
    public var requestModifier = Choice<RequestChange>.own
    /// `downloadResponseModifier`.
    public var responseModifier = Choice<ResponseChange>.own
    /// `downloadDecryptor`; `base64` is built in.
    public var decryptor = Choice<Never>.own
    /// `cacheKeyFilter`; `withoutQuery` is built in.
    public var keyFilter = Choice<Never>.own
    /// `cacheSerializer`.
    public var serializer = Choice<Never>.own
    /// `credentials`, Larder's own key: the credential profile to send. Nil sends none. A context holds no secrets.
    public var credentials: String?

    /// An empty context.
    public init() {}
}

/// A change to a request that a job can describe.
public struct RequestChange: Sendable, Hashable {
    /// The method; nil is GET.
    public var method: String?
    /// Headers to set; an empty value removes one.
    public var headers: [String: String]
    /// The body, for methods that have one.
    public var body: String?

    /// Describes a change.
    public init(method: String? = nil, headers: [String: String] = [:], body: String? = nil) {
        self.method = method
        self.headers = headers
        self.body = body
    }
}

/// A change to a response that a job can describe.
public struct ResponseChange: Sendable, Hashable {
    /// Replaces the server's status. Nil keeps it; SDWebImage's modifier would make it 200.
    public var status: Int?
    /// Headers to set.
    public var headers: [String: String]

    /// Describes a change.
    public init(status: Int? = nil, headers: [String: String] = [:]) {
        self.status = status
        self.headers = headers
    }
}
