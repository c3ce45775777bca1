/// Whether this machine reaches any origin at all. A pure value.
///
/// It reaches none when requests to several origins, or the lookups of their names, have timed out and none was
/// answered since the first of them. A refused connection counts as neither. The finding ends with the next answer, and
/// by itself after some minutes, so that a list of dead origins ends, too.
struct Reachability: Sendable, Equatable {
    typealias Instant = ContinuousClock.Instant

    /// Origins that time out within `window` and mean that none is reached.
    static let origins = 8
    static let window = Duration.seconds(60)
    /// How long errors are this machine's fault for this reason.
    static let longest = Duration.seconds(300)

    private var timedOut: [Origin: Instant] = [:]
    private var lostAt: Instant?

    /// A request to `origin` has ended.
    mutating func end(_ origin: Origin, _ outcome: RequestOutcome, at now: Instant) {
        switch outcome {
        case .answered:
            timedOut = [:]
            lostAt = nil
        case .failed(.timedOut): timeOut(origin, at: now)
        case .failed, .unknown: break
        }
    }

    /// A request to `origin`, or the lookup of its name, has timed out.
    mutating func timeOut(_ origin: Origin, at now: Instant) {
        timedOut = timedOut.filter { now - $0.value < Self.window }
        if timedOut.count < Self.origins { timedOut[origin] = now }
        if timedOut.count == Self.origins, lostAt == nil { lostAt = now }
    }

    /// Whether a time-out is this machine's fault.
    func isLost(at now: Instant) -> Bool { lostAt.map { now - $0 < Self.longest } ?? false }
}
