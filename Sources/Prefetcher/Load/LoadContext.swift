public import ImageModel
internal import Transcoder

/// What a load may be told beside its options: SDWebImage's context, as far as it means something without a view.
///
/// docs/sdwebimage.md tells of each key what it does. A part that is chosen by name is one the worker, or the program
/// that holds the manager, was configured with. Source: SDWebImage 5.21.5, `SDWebImageContext`.
public struct LoadContext: Sendable, Hashable {
    /// Where a query looks, or a store writes; SDWebImage's `SDImageCacheType`.
    ///
    /// Without a cache in memory (`ManagerParts.memory`; workers have none) memory alone is nothing, and both are the disk.
    public enum CacheType: Int, Sendable {
        case none, disk, memory, all

        /// Whether the disk is meant.
        var includesDisk: Bool { self == .disk || self == .all }

        /// Whether memory is meant.
        var includesMemory: Bool { self == .memory || self == .all }
    }

    /// A replaceable part of the manager.
    public enum Choice<Described: Sendable & Hashable>: Sendable, Hashable {
        /// The manager's own, if it has one; the default.
        case own
        /// None, although the manager may have one (`null` in JSON).
        case none
        /// The one configured under this name.
        case named(String)
        /// One described by the context itself.
        case described(Described)
    }

    /// For parts that cannot be described, but only named.
    public enum Nothing: Sendable, Hashable {}

    /// What SDWebImage's own load would give: a picture of the context's thumbnail size, transformers and encoding;
    /// nil when the context asks for none. It is made beside the variants of the pipeline, under the name `result`.
    public var result: Variant?
    /// `imageScaleFactor`: pixels per point, at least 1; nil takes it from the key.
    public var scale: Double?
    /// `imageScaleDownLimitBytes`: the most bytes of decoded pixels, above which the picture is scaled down.
    public var scaleDownLimit: Int?
    /// `queryCacheType`: whether variants are looked up, `.all` by default.
    public var query = CacheType.all
    /// `storeCacheType`: whether variants are stored, `.all` by default.
    public var store = CacheType.all
    /// `originalQueryCacheType`: whether the original is looked up, `.disk` by default.
    public var originalQuery = CacheType.disk
    /// `originalStoreCacheType`: whether the original is stored, `.disk` by default.
    public var originalStore = CacheType.disk
    /// `imageCache`: where variants lie, and the original where `originalCache` says nothing.
    public var cache = Choice<Nothing>.own
    /// `originalImageCache`: where the original lies.
    public var originalCache = Choice<Nothing>.own
    /// `imageLoader`: the one source to ask, instead of all.
    public var source = Choice<Nothing>.own
    /// `downloadRequestModifier`.
    public var requestModifier = Choice<RequestChange>.own
    /// `downloadResponseModifier`.
    public var responseModifier = Choice<ResponseChange>.own
    /// `downloadDecryptor`; `base64` is always there.
    public var decryptor = Choice<Nothing>.own
    /// `cacheKeyFilter`; `withoutQuery` is always there.
    public var keyFilter = Choice<Nothing>.own
    /// `cacheSerializer`.
    public var serializer = Choice<Nothing>.own
    /// `credentials`, Larder's own: the credential profile to send; nil sends none. Secrets are never in a context.
    public var credentials: String?

    /// A context that changes nothing.
    public init() {}
}

/// A request's method, headers and body, as a job may spell them.
public struct RequestChange: Sendable, Hashable {
    /// The method; nil is GET.
    public var method: String?
    /// Headers that are set; an empty value takes one away.
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

/// What to take a response for, as a job may spell it.
public struct ResponseChange: Sendable, Hashable {
    /// The status instead of the server's.
    ///
    /// Nil keeps it. SDWebImage's own modifier makes every status 200 when it is only to add headers; that is not copied.
    public var status: Int?
    /// Headers that are set.
    public var headers: [String: String]

    /// Describes a change.
    public init(status: Int? = nil, headers: [String: String] = [:]) {
        self.status = status
        self.headers = headers
    }
}
