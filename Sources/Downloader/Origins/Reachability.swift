/// Whether this machine reaches any origin at all. A pure value.
///
/// It reaches none when several origins could not be reached, for a reason that may be this machine's network, and none
/// has responded since the first of them. The finding ends with the next response, and by itself after some minutes, so
/// that a list of dead origins ends, too.
struct Reachability: Sendable, Equatable {
    typealias Instant = ContinuousClock.Instant

    /// Origins that are not reached within `window` and mean that none is.
    static let origins = 8
    static let window = Duration.seconds(60)
    /// How long errors are this machine's fault for this reason.
    static let longest = Duration.seconds(300)

    private var failed: [Origin: Instant] = [:]
    private var lostAt: Instant?

    /// An origin has responded, with any status.
    mutating func answered() {
        failed = [:]
        lostAt = nil
    }

    /// A request to `origin` ended with an error that may be local (`FetchError.mayBeLocal`). True when it is: no
    /// origin is reached.
    mutating func fail(_ origin: Origin, at now: Instant) -> Bool {
        failed = failed.filter { now - $0.value < Self.window }
        if failed.count < Self.origins { failed[origin] = now }
        if failed.count == Self.origins, lostAt == nil { lostAt = now }
        return lostAt.map { now - $0 < Self.longest } ?? false
    }
}
