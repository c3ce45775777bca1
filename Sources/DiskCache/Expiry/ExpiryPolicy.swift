/// What expires: files older than an age, then the oldest of the rest when they take too much room.
///
/// Source: SDWebImage 5.21.5, `SDImageCacheConfig` and `SDDiskCache.removeExpiredData`, with its defaults.
public struct ExpiryPolicy: Hashable, Sendable {
    /// The date that a file's age is counted from. The raw values are SDWebImage's.
    public enum DateKind: Int, Sendable, CaseIterable {
        /// When it was last read.
        case access = 0
        /// When its bytes were written.
        case modification = 1
        /// When it was made; the modification where the file system does not keep that.
        case creation = 2
        /// When anything of it, its name included, last changed.
        case change = 3
    }

    /// A file dated so long ago, or longer, goes; nil or negative: none goes by age. Seven days by default.
    public var maxAge: Duration?
    /// When the rest takes more than so many bytes, the oldest go until less than half of it is taken. 0, the default, or
    /// less: no limit.
    public var maxSize: Int
    /// The date that counts; `access` by default.
    public var date: DateKind

    /// SDWebImage's defaults, as far as nothing else is said.
    public init(maxAge: Duration? = .seconds(604_800), maxSize: Int = 0, date: DateKind = .access) {
        self.maxAge = maxAge
        self.maxSize = maxSize
        self.date = date
    }

    /// The last date that is too old at `now`; nil when none is.
    func expirationDate(at now: Timestamp) -> Timestamp? {
        guard let maxAge, maxAge >= .zero else { return nil }
        return now - maxAge
    }
}
