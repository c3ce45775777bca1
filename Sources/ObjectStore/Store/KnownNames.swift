/// Which names a small store has, from one listing: new images then need no request to find that they are missing.
///
/// States and transitions:
/// - unknown → listing: a caller begins the listing; the others ask the server meanwhile
/// - listing → known: it ended
/// - listing → unknown: it failed; listing → tooMany: the store has more names than are held
/// - known → listing: after `lifetime`; names that were known still answer meanwhile
///
/// A name is held as a hash of 64 bits. What it answers is never wrong in a way that loses an image: a name that
/// another worker stored since the listing is downloaded again, and its upload finds the object. A pure value.
struct KnownNames: Sendable {
    private enum State: Sendable {
        case unknown
        case listing(hasNames: Bool)
        case known(since: ContinuousClock.Instant)
        case tooMany
    }

    /// Names held, at 16 bytes each.
    static let limit = 200_000
    private static let lifetime = Duration.seconds(600)

    private var state = State.unknown
    private var hashes: Set<Int> = []
    /// Stored while the listing ran, which may have passed them.
    private var storedMeanwhile: Set<Int> = []

    /// Whether the caller is to list the names now, and report by `finish`.
    mutating func begins(at now: ContinuousClock.Instant) -> Bool {
        var hasNames = false
        switch state {
        case .listing: return false
        case .known(let since):
            guard now - since >= Self.lifetime else { return false }
            hasNames = true
        // As many listings again would only find more names.
        case .tooMany: return false
        case .unknown: break
        }
        state = .listing(hasNames: hasNames)
        storedMeanwhile = []
        return true
    }

    /// Ends a listing.
    ///
    /// - Parameter names: hashes of all names; nil when the listing failed or was ended at the limit.
    mutating func finish(_ names: Set<Int>?, isTooMany: Bool = false, at now: ContinuousClock.Instant) {
        if let names {
            hashes = names.union(storedMeanwhile)
            state = .known(since: now)
        } else {
            hashes = []
            state = isTooMany ? .tooMany : .unknown
        }
        storedMeanwhile = []
    }

    /// Whether the store certainly lacked the name when it was listed and this process has not stored it since.
    func lacks(_ name: String) -> Bool {
        switch state {
        case .known, .listing(hasNames: true): !hashes.contains(Self.hash(name))
        case .unknown, .tooMany, .listing(hasNames: false): false
        }
    }

    mutating func insert(_ name: String) {
        switch state {
        case .listing:
            storedMeanwhile.insert(Self.hash(name))
            hashes.insert(Self.hash(name))
        case .known: if hashes.count < Self.limit { hashes.insert(Self.hash(name)) } else { forget() }
        case .unknown, .tooMany: break
        }
    }

    private mutating func forget() {
        hashes = []
        state = .unknown
    }

    static func hash(_ name: String) -> Int { name.hashValue }
}
