import JobQueue
import Transcoder

/// Whether a worker can do its work, from its latest reports.
struct WorkerHealth {
    typealias Instant = ContinuousClock.Instant

    /// Time without a database answer after which the worker is not ready.
    static let longestSilence = Duration.seconds(15)
    /// Time without a claim loop iteration after which the worker is not ready.
    static let longestStall = Duration.seconds(30)
    /// Time without an iteration after which the process hangs. Longer than a call to a silent database may take, which
    /// a restart would not help.
    static let longestHang = Duration.seconds(180)

    /// Whether the database has ever been reached.
    var isConnected = false
    var isRegistered = false
    var isStopping = false
    /// The latest database error, nil after an answer.
    var databaseError: QueueError?
    var lastAnswer: Instant
    /// The claim loop's; nil while it does not run.
    var lastRound: Instant?
    var localFault: String?
    /// Why no transcoder can be started.
    var transcoderFault: String?
    /// Nil until a transcoder has reported it.
    var sandbox: SandboxLevel?
    var sandboxIsRequired = true
    /// Formats that the transcoders cannot write; a problem only for users who want them.
    var missingEncoders: [String] = []

    /// Why the worker is not ready; empty if it is.
    func reasonsNotReady(at now: Instant) -> [String] {
        var reasons: [String] = []
        if !isConnected {
            reasons.append("connecting to the database")
        } else if !isRegistered {
            reasons.append("not registered with the database")
        }
        if let databaseError {
            reasons.append(Self.text(databaseError))
        } else if isConnected, lastAnswer.duration(to: now) > Self.longestSilence {
            reasons.append("database: no answer")
        }
        if isStalled(for: Self.longestStall, at: now) { reasons.append("claim loop stalled") }
        if let localFault { reasons.append("local fault: \(localFault)") }
        if let transcoderFault { reasons.append("no transcoder: \(transcoderFault)") }
        if sandboxIsRequired, let missing = sandbox?.missing { reasons.append("incomplete sandbox: no \(missing)") }
        if isStopping { reasons.append("stopping") }
        return reasons
    }

    /// Why the process should be restarted; empty while it works, waits for the database, or stops.
    func reasonsNotAlive(at now: Instant) -> [String] {
        isStalled(for: Self.longestHang, at: now) ? ["the process hangs: claim loop stalled"] : []
    }

    private func isStalled(for time: Duration, at now: Instant) -> Bool {
        guard !isStopping, let lastRound else { return false }
        return lastRound.duration(to: now) > time
    }

    private static func text(_ error: QueueError) -> String {
        switch error.code {
        case .notMigrated: "schema too old: \(error.description)"
        case .protocolMismatch: "schema of another version: \(error.description)"
        default: "database: \(error.description)"
        }
    }
}
