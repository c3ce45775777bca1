internal import ImageModel
internal import JobQueue
internal import Prefetcher

/// The result of an attempt, as the queue records it.
struct AttemptResult: Sendable {
    let job: Job
    /// The recorded outcome, unless `delay` is set.
    var outcome: Outcome
    /// When set, the job returns to the queue after this time with its attempt refunded, and no outcome is recorded.
    var delay: Duration?
    /// The worker's own fault, why it could not run the job, with the profile if it concerns only one; nil for
    /// every other result.
    let fault: FailureReason?
    private let load: LoadReport?
    private let claimedAt: ContinuousClock.Instant
    /// When the load ended.
    private let endedAt = ContinuousClock.now

    private init(_ job: Job, _ outcome: Outcome.Result, delay: Duration? = nil, fault: FailureReason? = nil) {
        self.job = job
        claimedAt = .now
        self.outcome = Outcome(job.held, outcome)
        self.delay = delay
        self.fault = fault
        load = nil
    }

    /// - Parameter waited: the time between the claim and the start of the load.
    init(
        _ job: Job, _ result: Outcome.Result, _ load: LoadReport, claimedAt: ContinuousClock.Instant = .now,
        waited: Duration
    ) {
        var outcome = Outcome(job.held, result)
        outcome.httpStatus = load.httpStatus
        outcome.bytesIn = load.bytesIn
        outcome.bytesOut = load.bytesOut
        outcome.downloads = load.downloads
        outcome.variants = load.made
        outcome.waiting = waited
        outcome.waitingForConnection = load.timing.connectionWait
        outcome.waitingForNames = load.timing.lookup
        outcome.fetching = load.timing.fetch
        outcome.waitingForTranscoder = load.timing.transcoderWait
        outcome.transcoding = load.timing.transcode
        outcome.storing = load.timing.store
        outcome.stored = load.stored
        self.job = job
        self.claimedAt = claimedAt
        self.outcome = outcome
        self.load = load
        delay = nil
        fault = nil
    }

    /// A job that was cancelled while it ran.
    static func cancelled(_ job: Job) -> AttemptResult { AttemptResult(job, .cancelled) }

    /// A job whose origin is held for this time.
    static func snoozed(_ job: Job, for delay: Duration) -> AttemptResult {
        AttemptResult(job, .cancelled, delay: delay)
    }

    /// A job whose load was cut off while its worker continues: it is ready again within about a second.
    static func released(_ job: Job) -> AttemptResult { snoozed(job, for: .zero) }

    /// A job that the worker could not run because of its own fault.
    ///
    /// It is ready again within about a second, or after a minute when the fault is of its credential profile: the
    /// worker continues to claim with all slots, and would otherwise claim the same jobs again before all others.
    static func returned(_ job: Job, because fault: FailureReason) -> AttemptResult {
        AttemptResult(job, .cancelled, delay: fault.profile == nil ? .zero : profilePause, fault: fault)
    }

    /// How long a job waits whose credential profile the worker cannot use; the database adds up to a quarter of it.
    static let profilePause = Duration.seconds(60)

    /// Whether the attempt shows that the worker lacks nothing: it failed otherwise, or stored files. A job that the
    /// cache or the blocklist answered does not.
    var showsHealth: Bool {
        guard delay == nil, let load else { return false }
        if case .failed(let reason, _) = outcome.result { return reason.failureCode != .blocked }
        return load.downloads > 0 || load.made > 0
    }

    /// Whether the cache had everything.
    var isFromCache: Bool {
        guard case .succeeded = outcome.result, delay == nil, let load, !load.stored.isEmpty else { return false }
        return load.downloads == 0 && load.made == 0 && load.timing.fetch == .zero
    }

    /// The report for the event; nil when nothing was loaded.
    ///
    /// - Parameter joined: the traceparents of the items that joined the job.
    func report(_ decision: Decision, joined: [String] = []) -> AttemptReport? {
        guard let load else { return nil }
        var failure: FailureReason?
        if case .failed(let reason) = decision { failure = reason }
        if case .failed(let reason, _) = outcome.result { failure = reason }
        return AttemptReport(
            job: job, load: load, failure: failure, decision: decision, claimedAt: claimedAt,
            startedAt: claimedAt + outcome.waiting, endedAt: endedAt, joined: joined)
    }
}
