/// Which files expire: older than an age, then the oldest if the rest occupies too much.
///
/// Source: SDWebImage 5.21.5, `SDImageCacheConfig` and `SDDiskCache.removeExpiredData`, with its defaults.
public struct ExpiryPolicy: Hashable, Sendable {
    /// The date from which a file's age is counted. Raw values as in SDWebImage.
    public enum DateKind: Int, Sendable, CaseIterable {
        /// The last read.
        case access = 0
        /// The last content change. If the naming's modification date is the expiry (`CacheNaming.modificationDate`), a
        /// file expires at that date, whatever the age.
        case modification = 1
        /// The creation, or the modification if the file system does not record it.
        case creation = 2
        /// The last change of contents, name or attributes.
        case change = 3
    }

    /// Files of this age or older expire; none if nil or negative. Seven days by default.
    public var maxAge: Duration?
    /// If the remaining files occupy more than this many bytes, the oldest expire until less than half is occupied. 0,
    /// the default, and negative values mean no limit.
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

    /// The policy for a naming's files: no age is added to a date that is itself the expiry.
    func withDates(of naming: any CacheNaming) -> ExpiryPolicy {
        guard date == .modification, naming.modificationDate != nil, let maxAge, maxAge >= .zero else { return self }
        var policy = self
        policy.maxAge = .zero
        return policy
    }

    /// The latest expired date at `now`; nil without an age.
    func expirationDate(at now: Timestamp) -> Timestamp? {
        guard let maxAge, maxAge >= .zero else { return nil }
        return now - maxAge
    }
}
