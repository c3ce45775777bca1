/// The names in a small store, from one listing: new images then need no request to find that they are missing.
///
/// States and transitions:
/// - unknown → listing: a caller begins the listing; the others ask the server meanwhile
/// - listing → known: it ended
/// - listing → unknown: it failed; listing → tooMany: the store has more names than the limit
/// - known → listing: after `lifetime`; known names still answer meanwhile
///
/// Names are 64-bit hashes. A wrong answer never loses an image: one that another worker stored since the listing is
/// downloaded again, and its upload finds the object.
struct KnownNames: Sendable {
    private enum State: Sendable {
        case unknown
        case listing(hasNames: Bool)
        case known(since: ContinuousClock.Instant)
        case tooMany
    }

    /// Maximum names, 16 bytes each.
    static let limit = 200_000
    private static let lifetime = Duration.seconds(600)

    private var state = State.unknown
    private var hashes: Set<Int> = []
    /// Stored while the listing ran, which may have passed them.
    private var storedMeanwhile: Set<Int> = []

    /// Whether the caller must list the names now and report by `finish`.
    mutating func begins(at now: ContinuousClock.Instant) -> Bool {
        var hasNames = false
        switch state {
        case .listing: return false
        case .known(let since):
            guard now - since >= Self.lifetime else { return false }
            hasNames = true
        // Further listings would only find more names.
        case .tooMany: return false
        case .unknown: break
        }
        state = .listing(hasNames: hasNames)
        storedMeanwhile = []
        return true
    }

    /// Ends a listing.
    ///
    /// - Parameter names: hashes of all names; nil if the listing failed or reached the limit.
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

    /// Whether the store lacked the name when listed and this process has not stored it since.
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
