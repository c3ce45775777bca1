/// Which files expire: those older than an age, then the oldest of the rest when they occupy too much.
///
/// Source: SDWebImage 5.21.5, `SDImageCacheConfig` and `SDDiskCache.removeExpiredData`, with its defaults.
public struct ExpiryPolicy: Hashable, Sendable {
    /// The date from which a file's age is counted. The raw values are SDWebImage's.
    public enum DateKind: Int, Sendable, CaseIterable {
        /// The last read.
        case access = 0
        /// The last change of the contents. With a naming whose modification date is when a file expires
        /// (`CacheNaming.modificationDate`), a file expires at that date, whatever the age is.
        case modification = 1
        /// The creation, or the modification on file systems that do not record it.
        case creation = 2
        /// The last change of contents, name or attributes.
        case change = 3
    }

    /// Files of this age or older expire; none does when it is nil or negative. Seven days by default.
    public var maxAge: Duration?
    /// When the remaining files occupy more than this many bytes, the oldest expire until the rest occupies less than
    /// half of it. 0, the default, and negative values mean no limit.
    public var maxSize: Int
    /// `access` by default.
    public var date: DateKind
    /// While a process has the store open, files stored or read within this time stay. 15 minutes by default, longer
    /// than any job; zero spares none.
    public var sparing: Duration

    /// SDWebImage's defaults.
    public init(
        maxAge: Duration? = .seconds(604_800), maxSize: Int = 0, date: DateKind = .access,
        sparing: Duration = .seconds(900)
    ) {
        self.maxAge = maxAge
        self.maxSize = maxSize
        self.date = date
        self.sparing = sparing
    }

    /// The policy for files of a naming: an age is not added to a date that is itself the expiry.
    func withDates(of naming: any CacheNaming) -> ExpiryPolicy {
        guard date == .modification, naming.modificationDate != nil, let maxAge, maxAge >= .zero else { return self }
        var policy = self
        policy.maxAge = .zero
        return policy
    }

    /// The latest date that is expired at `now`; nil when there is no age.
    func expirationDate(at now: Timestamp) -> Timestamp? {
        guard let maxAge, maxAge >= .zero else { return nil }
        return now - maxAge
    }
}
