/// What a call to the database is for. It decides which calls wait for a session, and for which one.
///
/// Of the calls of a worker only those that can be repeated are interrupted; a call of `other` may be the enqueue of a
/// program that shares the queue.
enum CallKind: Sendable {
    /// Extends the leases of all jobs of a worker, or ends it.
    case heartbeat
    /// Maintenance for which jobs wait, such as the rescue of a dead worker's jobs.
    case urgent
    case claim
    /// All other calls, such as completions.
    case other
    /// Maintenance that may take long or wait for a lock.
    case long

    /// Whether a call of this kind ends one of `kind` when it has waited too long for a session.
    func mayInterrupt(_ kind: CallKind) -> Bool {
        switch self {
        case .heartbeat: kind == .long || kind == .claim || kind == .urgent
        case .urgent: kind == .long || kind == .claim
        case .claim, .other: kind == .long
        case .long: false
        }
    }
}
