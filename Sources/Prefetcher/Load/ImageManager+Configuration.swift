public import DiskCache
public import Downloader
public import FoundationEssentials
public import ImageModel
public import Transcoder

extension ImageManager {
    /// The replaceable parts of a manager: sources, caches, modifiers, filters, hooks.
    ///
    /// Source: SDWebImage 5.21.5, `SDWebImageManager`, its delegate, and the downloader's modifiers.
    public struct Configuration: Sendable {
        /// A part that every load uses unless its context names another.
        public struct Replaceable<Part: Sendable>: Sendable {
            /// The default part; nil for none.
            public var own: Part?
            /// The parts that contexts can name.
            public var named: [String: Part]

            /// A default part and named ones.
            public init(own: Part? = nil, named: [String: Part] = [:]) {
                self.own = own
                self.named = named
            }
        }

        /// Sources; the last one that can load a URL loads it.
        public var sources: [any ImageSource]
        /// Sources that contexts can name (`imageLoader`).
        public var namedSources: [String: any ImageSource] = [:]
        /// Caches that contexts can name (`imageCache`, `originalImageCache`).
        public var caches: [String: any ImageStore] = [:]
        /// The bytes of stored files by cache key, queried before the disk and filled according to the context's cache
        /// types. Nil by default (SDWebImage 5.21.5, `SDMemoryCache`).
        public var memory: MemoryCache<Data>?
        /// URLs that failed permanently; in memory by default.
        public var blocklist: any Blocklist = MemoryBlocklist()
        /// The formats and sizes accepted as originals; the transcoder's defaults by default.
        public var limits = TranscodeLimits()
        /// Threads for blocking file calls, 4 by default.
        public var diskThreads = 4
        /// Threads for lookups and stores if a cache is on another host, so that a load that waits for it holds neither
        /// a disk thread nor a transcoder. Nil, the default, uses the disk threads.
        public var storeThreads: Int?
        /// Changes a request before it is sent.
        public var requestModifier = Replaceable<RequestModifier>()
        /// Changes a response's status and headers before they are checked.
        public var responseModifier = Replaceable<ResponseModifier>()
        /// Converts downloaded bytes to an image; nil from it is error 1001.
        public var decryptor = Replaceable<DataTransform>(named: ["base64": DataTransforms.base64])
        /// Maps a URL to its cache key, by default the URL; nil from it turns the cache off for the load.
        public var keyFilter = Replaceable<CacheKeyFilter>(named: ["withoutQuery": CacheKeyFilters.withoutQuery])
        /// Changes the bytes stored under each key; nil from it keeps them.
        public var serializer = Replaceable<DataTransform>()
        /// Rewrites a request first of all; nil from it keeps the request.
        public var optionsProcessor: (@Sendable (LoadRequest) -> LoadRequest?)?
        /// Whether an uncached URL may be downloaded. A refused load is no error; its report is empty.
        public var shouldDownload: @Sendable (_ url: String) -> Bool = { _ in true }
        /// The shortest time between two partial images of a load.
        package var partialInterval: Duration = .milliseconds(150)
        /// Whether a failed URL goes on the blocklist; nil applies the source's rule. Not called for cancelled loads
        /// and faults of this machine.
        public var shouldBlock: (@Sendable (_ url: String, _ failure: FailureReason) -> Bool)?

        /// A configuration with these sources and defaults otherwise.
        public init(sources: [any ImageSource]) { self.sources = sources }
    }
}

/// Maps a URL to its cache key, for example without a signature that changes daily.
///
/// Source: SDWebImage 5.21.5, `SDWebImageCacheKeyFilter`.
public typealias CacheKeyFilter = @Sendable (_ url: String) -> String?

/// Converts a file's bytes, on a thread that may block. The whole file is in memory during the call.
///
/// Source: SDWebImage 5.21.5, `SDWebImageDownloaderDecryptor`, `SDWebImageCacheSerializer`.
public typealias DataTransform = @Sendable (_ bytes: Data, _ url: String) -> Data?

package enum CacheKeyFilters {
    /// The URL up to its first `?`.
    package static let withoutQuery: CacheKeyFilter = { url in
        String(decoding: url.utf8.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
    }
}

package enum DataTransforms {
    /// Decodes Base64 and skips other characters (SDWebImage 5.21.5, `SDWebImageDownloaderDecryptor.base64Decryptor`).
    package static let base64: DataTransform = { bytes, _ in
        Data(base64Encoded: bytes, options: .ignoreUnknownCharacters)
    }
}
