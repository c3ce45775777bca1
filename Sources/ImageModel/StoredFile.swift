/// One file that a job put into the cache, or could not make.
public struct StoredFile: Sendable, Equatable, Codable {
    /// The variant's name; nil is the original.
    public var name: String?
    /// SDWebImage's cache key.
    public var key: String
    /// The path below the cache root; nil when there is no file.
    public var path: String?
    /// The file's size in bytes.
    public var bytes: Int?
    /// `jpeg`, `png`, `gif`, `webp`, …
    public var format: String?
    /// The picture's width in pixels, as stored.
    public var width: Int?
    /// The picture's height in pixels, as stored.
    public var height: Int?
    /// SHA-256 of a file that this job stored, 64 hexadecimal digits.
    public var sha256: String?
    /// What the origin said of the original for robots, `X-Robots-Tag` and `robots.txt`, when it said anything.
    public var robots: String?
    /// What the picture looks like, of the original when it was decoded.
    public var digest: Digest?
    /// The format that was asked for, where another one was written in its place.
    public var replaced: String?
    /// True when no quality gave as few bytes as the variant asks for.
    public var exceedsMaxBytes: Bool?
    /// True when the source was asked and has the same: a 304, or the same bytes once more.
    public var unchanged: Bool?
    /// How the file came to be there; nil when there is none.
    public var origin: Origin?
    /// Why the variant could not be made.
    public var error: FailureReason?

    /// What a picture looks like in a few bytes: for placeholders, and to find the same picture again.
    public struct Digest: Sendable, Equatable, Codable {
        /// A ThumbHash in base 64.
        public var thumbHash: String
        /// The mean of all pixels and the most frequent colour, `#aarrggbb`.
        public var averageColor, dominantColor: String
        /// 64 bits in 16 hexadecimal digits; pictures alike differ in few of them.
        public var perceptualHash: String
        /// Whether the picture has an alpha channel.
        public var hasAlpha: Bool
        /// Frames; 1 for a still.
        public var frames: Int

        /// Describes a picture.
        public init(
            thumbHash: String, averageColor: String, dominantColor: String, perceptualHash: String, hasAlpha: Bool,
            frames: Int
        ) {
            self.thumbHash = thumbHash
            self.averageColor = averageColor
            self.dominantColor = dominantColor
            self.perceptualHash = perceptualHash
            self.hasAlpha = hasAlpha
            self.frames = frames
        }
    }

    /// How a file came to be in the cache.
    public enum Origin: String, Sendable, Codable {
        /// Downloaded by this job.
        case downloaded
        /// Made by this job.
        case transcoded
        /// The original's bytes under the variant's key: animated sources are not transformed.
        case copied
        /// There before.
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
