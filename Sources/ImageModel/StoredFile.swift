/// A file that a job stored in the cache, or could not make.
public struct StoredFile: Sendable, Equatable, Codable {
    /// The variant's name; nil for the original.
    public var name: String?
    /// SDWebImage's cache key.
    public var key: String
    /// The path below the cache root; nil if there is no file.
    public var path: String?
    /// The file's size in bytes.
    public var bytes: Int?
    /// `jpeg`, `png`, `gif`, `webp`, …
    public var format: String?
    /// The width in pixels, as stored.
    public var width: Int?
    /// The height in pixels, as stored.
    public var height: Int?
    /// SHA-256 of a file stored by this job, 64 hexadecimal digits.
    public var sha256: String?
    /// The origin's `X-Robots-Tag` and `robots.txt` rules for the original, if any.
    public var robots: String?
    /// The original's digest, if it was decoded.
    package var digest: ImageDigest?
    /// The requested format, if another was written.
    public var replaced: String?
    /// True if no quality meets the byte limit.
    public var exceedsMaxBytes: Bool?
    /// The hash of the recipe by which the file was made (`Variant.recipe`), if known.
    public var recipe: String?
    /// True if the cached file was made by another recipe than the variant's.
    public var differs: Bool?
    /// True if the source still has the same bytes, by a 304 or by sending them again.
    public var unchanged: Bool?
    /// Nil if there is no file.
    public var origin: Origin?
    /// Why the variant could not be made.
    public var error: FailureReason?

    /// How a file was stored.
    public enum Origin: String, Sendable, Codable {
        /// Downloaded by this job.
        case downloaded
        /// Made by this job.
        case transcoded
        /// The original's bytes under the variant's key: by default animations and vector images are not transformed.
        case copied
        /// A copy of a file made from the same bytes for another URL.
        case reused
        /// Stored before.
        case cached
    }

    /// Whether this job wrote the file.
    public var isNew: Bool { origin != nil && origin != .cached }

    /// Describes a file.
    public init(
        name: String? = nil, key: String, path: String? = nil, bytes: Int? = nil, format: String? = nil,
        sha256: String? = nil, origin: Origin? = nil, error: FailureReason? = nil
    ) {
        self.name = name
        self.key = key
        self.path = path
        self.bytes = bytes
        self.format = format
        self.sha256 = sha256
        self.origin = origin
        self.error = error
    }
}
