/// Whether this machine reaches any origin at all, or accepts the certificate of any. A pure value.
///
/// It does not when requests to several origins failed, for a reason that may be this machine's, and none has responded
/// since the first of them. The finding ends with the next response, and by itself after some minutes, so
/// that a list of dead origins ends, too.
struct Reachability: Sendable, Equatable {
    typealias Instant = ContinuousClock.Instant

    /// Origins that are not reached within `window` and mean that none is; by default.
    static let origins = 8
    static let window = Duration.seconds(60)
    /// How long errors are this machine's fault for this reason.
    static let longest = Duration.seconds(300)

    private let origins: Int
    private var failed: [Origin: Instant] = [:]
    private var lostAt: Instant?

    init(origins: Int = Self.origins) { self.origins = origins }

    /// An origin has responded, with any status.
    mutating func answered() {
        failed = [:]
        lostAt = nil
    }

    /// A request to `origin` ended with an error that may be local (`FetchError.localCause`). True when it is: no
    /// origin is reached.
    mutating func fail(_ origin: Origin, at now: Instant) -> Bool {
        failed = failed.filter { now - $0.value < Self.window }
        if failed.count < origins { failed[origin] = now }
        if failed.count == origins, lostAt == nil { lostAt = now }
        return lostAt.map { now - $0 < Self.longest } ?? false
    }
}
