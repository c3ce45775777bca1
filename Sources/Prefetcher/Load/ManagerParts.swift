public import DiskCache
public import Downloader
public import Foundation
public import ImageModel

/// What of a manager a program may replace or add: sources, caches, modifiers, filters, hooks.
///
/// Each kind has one of the manager's own, which every load uses, and others that a load's context chooses by name.
/// Source: SDWebImage 5.21.5, `SDWebImageManager`, its delegate, and the downloader's modifiers.
public struct ManagerParts: Sendable {
    /// One of the manager's own, none by default, and others by name.
    public struct Kind<Part: Sendable>: Sendable {
        /// What every load uses whose context says nothing.
        public var own: Part?
        /// What contexts may name.
        public var named: [String: Part]

        /// A kind of part.
        public init(own: Part? = nil, named: [String: Part] = [:]) {
            self.own = own
            self.named = named
        }
    }

    /// Sources, the last added asked first.
    public var sources: [any ImageSource]
    /// Sources that contexts may name instead (`imageLoader`).
    public var namedSources: [String: any ImageSource] = [:]
    /// Caches that contexts may name (`imageCache`, `originalImageCache`).
    public var caches: [String: any ImageStore] = [:]
    /// The bytes of stored files by cache key, asked before the disk and filled as the context's cache types say; none by
    /// default, as jobs are independent of each other. What a load reports, a program finds here (SDWebImage 5.21.5,
    /// `SDMemoryCache`).
    public var memory: MemoryCache<Data>?
    /// URLs that failed for good; in memory by default.
    public var blocklist: any Blocklist = MemoryBlocklist()
    /// Changes requests before they are sent.
    public var requestModifier = Kind<RequestModifier>()
    /// Changes statuses and headers before they are judged.
    public var responseModifier = Kind<ResponseModifier>()
    /// Makes a picture of what was downloaded; nil of it is error 1001.
    public var decryptor = Kind<DataTransform>(named: ["base64": DataTransforms.base64])
    /// The key of a URL instead of its text; nil of it: this load has no cache.
    public var keyFilter = Kind<CacheKeyFilter>(named: ["withoutQuery": CacheKeyFilters.withoutQuery])
    /// Changes what is written under each key; nil of it leaves it as it is.
    public var serializer = Kind<DataTransform>()
    /// Rewrites a request's options and context before anything else; nil leaves them.
    ///
    /// Whatever it returns, key and action go by it alike.
    public var optionsProcessor: (@Sendable (LoadRequest) -> LoadRequest?)?
    /// Whether a URL that is not cached may be downloaded; no is no error, there is then just no picture.
    public var shouldDownload: @Sendable (_ url: String) -> Bool = { _ in true }
    /// Whether a failed URL goes on the blocklist; nil leaves it to the source's rule.
    public var shouldBlock: (@Sendable (_ url: String, _ failure: FailureReason) -> Bool)?

    /// Parts that only add these sources.
    public init(sources: [any ImageSource]) { self.sources = sources }
}

/// The key of a URL instead of its text, so that a signature that changes daily does not defeat the cache.
///
/// Source: SDWebImage 5.21.5, `SDWebImageCacheKeyFilter`.
public typealias CacheKeyFilter = @Sendable (_ url: String) -> String?

/// Makes other bytes of a file's, on a thread that may block; a whole file is in memory for each of the few threads.
///
/// Source: SDWebImage 5.21.5, `SDWebImageDownloaderDecryptor`, `SDWebImageCacheSerializer`.
public typealias DataTransform = @Sendable (_ bytes: Data, _ url: String) -> Data?

/// Key filters that are always there.
public enum CacheKeyFilters {
    /// The URL up to its first `?`.
    public static let withoutQuery: CacheKeyFilter = { url in
        String(decoding: url.utf8.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
    }
}

/// Transforms that are always there.
public enum DataTransforms {
    /// Decodes Base64, skipping what belongs to no such text (SDWebImage 5.21.5, `SDWebImageDownloaderDecryptor.base64Decryptor`).
    public static let base64: DataTransform = { bytes, _ in
        Data(base64Encoded: bytes, options: .ignoreUnknownCharacters)
    }
}
