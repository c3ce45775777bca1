internal import ImageModel
internal import JobQueue
internal import Prefetcher

struct AttemptResult: Sendable {
    let job: Job
    /// The recorded outcome, unless `delay` is set.
    var outcome: Outcome
    /// If set, the job returns to the queue after this time, its attempt is refunded, and no outcome is recorded.
    var delay: Duration?
    /// The worker's own fault that prevented the job from running, with the profile if only one is affected; otherwise
    /// nil.
    let fault: FailureReason?
    private let load: LoadReport?
    private let claimedAt: ContinuousClock.Instant
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

    /// The job's origin is paused for `delay`.
    static func snoozed(_ job: Job, for delay: Duration) -> AttemptResult {
        AttemptResult(job, .cancelled, delay: delay)
    }

    /// The load was cut off but the worker continues: the job is ready again within about a second.
    static func released(_ job: Job) -> AttemptResult { snoozed(job, for: .zero) }

    /// The worker could not run the job because of its own fault.
    ///
    /// The job is ready again within about a second, or after a minute if the fault concerns its credential profile.
    /// Without that minute the worker would claim the same jobs again before all others.
    static func returned(_ job: Job, because fault: FailureReason) -> AttemptResult {
        AttemptResult(job, .cancelled, delay: fault.profile == nil ? .zero : profilePause, fault: fault)
    }

    /// Delay of a job whose credential profile the worker cannot use. The database adds up to 25 %.
    static let profilePause = Duration.seconds(60)

    /// True if the attempt proves that the worker lacks nothing: it stored files or failed for another reason. Answers
    /// from the cache or the blocklist prove nothing.
    var showsHealth: Bool {
        guard delay == nil, let load else { return false }
        if case .failed(let reason, _) = outcome.result { return reason.failureCode != .blocked }
        return load.downloads > 0 || load.made > 0
    }

    /// True if every file came from the cache.
    var isFromCache: Bool {
        guard case .succeeded = outcome.result, delay == nil, let load, !load.stored.isEmpty else { return false }
        return load.downloads == 0 && load.made == 0 && load.timing.fetch == .zero
    }

    /// The report for the event; nil if nothing was loaded.
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
