internal import ImageModel
internal import JobQueue

/// The slots of a registered worker and the next actions of its claim loop and batch completer.
///
/// Reads no clock and does no I/O. `WorkerRegistration` reports events and performs the returned actions.
///
/// States of a slot:
/// - free → running: a claim returned a job.
/// - running → ended: the attempt has a result, which is gathered with others.
/// - running → free: the attempt was cut off; its job is released when the worker deregisters.
/// - ended → completing: the result is in the current statement.
/// - completing → free: the result is committed.
/// - completing → ended: the statement failed or the job is locked by another transaction; the result is sent again.
/// - completing, ended → free: the result cannot be committed and the worker is cancelling.
///
/// Phases of a worker:
/// - claiming → finishing: shutdown requested, time up, or configured end reached.
/// - claiming, finishing → cancelling: urgent shutdown requested or grace time over.
/// - any → ended: lease lost, error final, task cancelled, or no slot in use after claiming.
///
/// A worker with a fault of its own claims one job at a time, with no other slot in use, until an attempt succeeds.
/// Failures of the first jobs are held while all are caused by the worker's options; a drain then ends, as its options
/// do not change. A fault of a credential profile concerns only the jobs that name it and changes no claim.
struct WorkerState: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum ClaimAction: Sendable {
        /// Claim up to this many jobs; then report `claimed` or `claimFailed`.
        case claim(Int)
        /// Check whether the configured end is reached; then report `checkedEnd` or `claimFailed`. `isIdle`: no slot is
        /// in use.
        case checkEnd(isIdle: Bool)
        /// Announce that claiming has ended with this many slots in use.
        case announceStop(inUse: Int)
        /// Announce the worker's fault, or its end with nil.
        case announceFault(FailureReason?)
        case announceProfileFault(ProfileFault)
        /// Report the worker's fault to the database; nil clears it.
        case reportFault(String?)
        case wakeCompleter
        case cancelAttempts
        /// Wait for a signal, at most this long.
        case wait(Duration)
        /// Cancel running attempts and leave the loop.
        case leave(Ending)
    }

    enum CompletionAction: Sendable {
        /// Commit these results; then report `completed`.
        case complete([AttemptResult])
        /// Wait for a signal, at most this long; nil is without limit.
        case wait(Duration?)
    }

    enum Ending: Sendable {
        case finished
        case leaseLost
        case failed(QueueError)
    }

    private enum Phase: Comparable {
        case claiming, finishing, cancelling, ended
    }

    struct Configuration: Sendable {
        /// Jobs that run at once, at least 1.
        var slots: Int
        var end = PrefetchWorker.End.stopped
        /// When claiming ends; nil means never.
        var deadline: Instant?
        /// Time for running attempts after claiming has ended.
        var grace = Duration.seconds(20)
        /// Pause between two claims of an idle worker, from `idlePauses`.
        var idlePause = WorkerState.pauses.upperBound
    }

    /// Pauses between claims that return no job, doubling from the lower to the upper bound. The upper bound also
    /// limits every wait, so that the lease is checked in time.
    static let pauses: ClosedRange<Duration> = .milliseconds(50)...(.seconds(1))
    /// Empty claims after which the upper bound is reached.
    static let idleAfter = 5
    /// Seconds between claims, and between heartbeats, of an idle worker. Each worker picks its own pause, so that
    /// workers started together do not claim together.
    static let idlePauses: ClosedRange<Double> = 1.0...1.1
    /// Pauses between jobs of a worker with a fault, doubling from the lower to the upper bound.
    static let faultPauses: ClosedRange<Duration> = .milliseconds(250)...(.seconds(2))
    /// Delay of a job that met the worker's fault while no other job ran.
    static let faultJobPause = Duration.seconds(5)
    /// Longest time to gather results while no slot waits for work. At 50 ms, Postgres spent a third more time on a
    /// worker with 35 images a second.
    static let gatherTime = Duration.milliseconds(200)
    static let maxBatch = 500
    /// Pause before results are sent again.
    static let retryPause = Duration.milliseconds(200)

    /// Counts, including previous registrations.
    private(set) var summary: PrefetchWorker.Summary
    private let configuration: Configuration
    private var phase = Phase.claiming
    private var ending: Ending?

    private var width = ClaimWidth()
    private var running = 0
    private var gathered: [AttemptResult] = []
    private var completing = 0
    /// When the oldest gathered result was added.
    private var gatheredSince: Instant?
    /// Send nothing before this time: the last statement failed or left results over.
    private var retryAt: Instant?

    /// Claim nothing before this time: the last claim was not filled. Nil: claim as soon as a slot is free.
    private var claimAt: Instant?
    private var emptyClaims = 0
    private var mustCheckEnd = false
    /// The fault that prevents the worker from running any job; nil without one.
    private var fault: FailureReason?
    /// Consecutive attempts that met the fault, and when the next job may be claimed.
    private var faults = 0
    private var probeAt: Instant?
    private var mustAnnounceFault = false
    private var profileFaults = ProfileFaults()
    private var settings: SettingsGuard
    private var mustWakeCompleter = false
    private var mustReportFault = false
    private var graceEnd: Instant?
    private var mustAnnounceStop = false
    private var mustCancelAttempts = false

    init(_ configuration: Configuration, summary: PrefetchWorker.Summary = .init()) {
        precondition(configuration.slots > 0, "a worker needs a slot")
        self.configuration = configuration
        self.summary = summary
        var isOver = summary.succeeded + summary.failed > 0
        // All jobs belong to this command, which reports the wrong options itself.
        if case .batchFinished = configuration.end { isOver = true }
        settings = SettingsGuard(isOver: isOver)
    }

    var inUse: Int { running + gathered.count + completing + settings.count }

    /// Held results occupy no slot; otherwise a worker with one slot could never collect enough of them.
    private var free: Int { slots - running - gathered.count - completing }
    private var slots: Int { configuration.slots * width.factor }
    /// Whether the cache answered the last jobs, and probably answers the next ones.
    var expectsCached: Bool { width.factor > 1 }

    // MARK: - The claim loop

    mutating func nextClaimAction(at now: Instant) -> ClaimAction {
        if let ending { return .leave(ending) }
        if let deadline = configuration.deadline, deadline <= now, phase == .claiming {
            summary.timeIsUp = true
            finish(at: now)
        }
        if let graceEnd, graceEnd <= now { cancel() }
        if mustWakeCompleter.take() { return .wakeCompleter }
        if mustAnnounceStop.take() { return .announceStop(inUse: inUse) }
        if mustAnnounceFault.take() { return .announceFault(fault) }
        if let fault = profileFaults.nextUnannounced() { return .announceProfileFault(fault) }
        if profileFaults.forget(at: now) { mustReportFault = true }
        if isDue(at: now), mustReportFault.take() { return .reportFault(fault?.message ?? profileFaults.summary) }
        if mustCancelAttempts.take() { return .cancelAttempts }
        guard phase == .claiming else {
            if inUse > 0 { return .wait(wait(until: graceEnd, from: now)) }
            end(.finished)
            return .leave(.finished)
        }
        if mustCheckEnd, configuration.end != .drained || inUse == 0 { return .checkEnd(isIdle: inUse == 0) }
        guard free > 0, fault == nil || inUse == 0 else { return .wait(wait(until: configuration.deadline, from: now)) }
        let due = [claimAt, fault == nil ? nil : probeAt].compactMap { $0 }.max()
        guard let due, due > now else {
            return .claim(fault == nil ? free : 1)
        }
        return .wait(wait(until: min(due, configuration.deadline ?? due), from: now))
    }

    /// False during the pause after a failed statement.
    private func isDue(at now: Instant) -> Bool { claimAt.map { $0 <= now } ?? true }

    /// The fault report failed; repeat it with the next claim.
    mutating func faultReportFailed() { mustReportFault = true }

    mutating func claimed(_ count: Int, of limit: Int, at now: Instant) {
        running += count
        emptyClaims = count == 0 ? emptyClaims + 1 : 0
        mustCheckEnd = count == 0 && configuration.end != .stopped
        // A filled claim: there are probably more jobs. Otherwise the queue is empty for now.
        claimAt = count >= limit ? nil : now + pause
        if count == 0, running == 0 { recordHeld(at: now) }
    }

    /// Jobs are probably ready: do not wait with the next claim.
    mutating func claimAtOnce() { claimAt = nil }

    mutating func claimFailed(at now: Instant) {
        emptyClaims += 1
        mustCheckEnd = false
        claimAt = now + pause
    }

    /// If the end is reached, attempts that still run belong to a cancelled batch: they are cancelled and their jobs
    /// released.
    mutating func checkedEnd(isReached: Bool) {
        mustCheckEnd = false
        guard isReached, phase == .claiming else { return }
        phase = .finishing
        mustCancelAttempts = running > 0
    }

    mutating func requestShutdown(_ urgency: ShutdownRequest.Urgency, at now: Instant) {
        if urgency > .none { finish(at: now) }
        if urgency == .cancel { cancel() }
    }

    /// The jobs may belong to other workers now.
    mutating func loseLease() { end(.leaseLost) }

    /// The worker's task is cancelled. It cannot wait, so results are no longer committed.
    mutating func abandon() { end(.finished) }

    /// The error is not transient.
    mutating func fail(_ error: QueueError) { end(.failed(error)) }

    // MARK: - The batch completer

    /// An attempt ended with a result. True if the completer must be woken.
    mutating func ended(_ result: AttemptResult, at now: Instant) -> Bool {
        running -= 1
        var result = result
        // Claim a different job next: the apparent fault of the worker may be this job's.
        if let fault, !fault.needs.isEmpty, result.refusedBySettings != nil {
            result = .returned(result.job, because: fault)
        }
        if let own = result.fault, own.profile == nil, fault != nil, running == 0 { result.delay = Self.faultJobPause }
        switch settings.add(result) {
        case .held:
            guard phase == .claiming else { break }
            return false
        case .recorded(let results):
            for result in results { gather(result, at: now) }
        case .refused(let results, let reason):
            for result in results { gather(.returned(result.job, because: reason), at: now) }
            if configuration.end == .drained { finish(at: now) }
        }
        if phase != .claiming { recordHeld(at: now) }
        return gathered.count == 1 || !isWorthWaiting(at: now)
    }

    private mutating func gather(_ result: AttemptResult, at now: Instant) {
        note(result, at: now)
        width.note(isFromCache: result.isFromCache, slots: configuration.slots)
        gathered.append(result)
        gatheredSince = gatheredSince ?? now
    }

    /// Records the held failures: no further job can prove the options right.
    private mutating func recordHeld(at now: Instant) {
        let results = settings.take()
        guard !results.isEmpty else { return }
        for result in results { gather(result, at: now) }
        mustWakeCompleter = true
    }

    /// An attempt was cut off without a result.
    mutating func cutOff() {
        running -= 1
        freed()
    }

    mutating func nextCompletionAction(at now: Instant) -> CompletionAction {
        guard let gatheredSince else { return .wait(nil) }
        let due = max(isWorthWaiting(at: now) ? gatheredSince + Self.gatherTime : now, retryAt ?? now)
        if due > now { return .wait(due - now) }
        let batch = Array(gathered.prefix(Self.maxBatch))
        gathered.removeFirst(batch.count)
        completing = batch.count
        self.gatheredSince = gathered.isEmpty ? nil : gatheredSince
        retryAt = nil
        return .complete(batch)
    }

    /// A statement returned these decisions. The results in `left` were not recorded and are sent again.
    mutating func completed(_ decisions: [Decision], left: [AttemptResult], at now: Instant) {
        for decision in decisions {
            switch decision {
            case .succeeded: summary.succeeded += 1
            case .failed: summary.failed += 1
            case .retried: summary.retried += 1
            case .cancelled, .stale, .busy: break
            }
        }
        if completing > left.count { freed() }
        completing = 0
        guard !left.isEmpty else { return }
        gathered.insert(contentsOf: left, at: 0)
        gatheredSince = gatheredSince ?? now
        retryAt = now + Self.retryPause
        if phase == .cancelling { giveUpResults() }
    }

    // MARK: - Rules

    /// Gather results while an attempt runs, no free slot waits for work and the worker is not cancelling.
    private func isWorthWaiting(at now: Instant) -> Bool {
        guard phase < .cancelling, running > 0 else { return false }
        let isStarved = phase == .claiming && free > 0 && claimAt.map { $0 > now } ?? false
        return !isStarved && gathered.count < max(1, slots / 4)
    }

    private mutating func note(_ result: AttemptResult, at now: Instant) {
        if let reason = result.fault, let profile = reason.profile {
            if profileFaults.add(reason, profile: profile, of: result.job, at: now) { mustReportFault = true }
        } else if let reason = result.fault {
            // Attempts that ran together count once.
            if probeAt.map({ $0 <= now }) ?? true {
                probeAt =
                    now + min(Self.faultPauses.lowerBound * Double(1 << min(faults, 10)), Self.faultPauses.upperBound)
                faults += 1
            }
            if fault == nil { (mustAnnounceFault, mustReportFault) = (true, true) }
            fault = reason
        } else if fault != nil {
            faults = 0
            probeAt = nil
            guard result.showsHealth, running == 0 else { return }
            fault = nil
            (mustAnnounceFault, mustReportFault) = (true, true)
        }
    }

    private mutating func freed() {
        claimAt = nil
        mustCheckEnd = false
    }

    private mutating func finish(at now: Instant) {
        guard graceEnd == nil else { return }
        phase = max(phase, .finishing)
        graceEnd = now + configuration.grace
        mustAnnounceStop = true
        recordHeld(at: now)
    }

    private mutating func cancel() {
        guard phase < .cancelling else { return }
        phase = .cancelling
        mustCancelAttempts = true
        if retryAt != nil { giveUpResults() }
    }

    /// The jobs of these results are released when the worker deregisters, or rescued when its lease ends.
    private mutating func giveUpResults() {
        _ = settings.take()
        gathered = []
        gatheredSince = nil
    }

    private mutating func end(_ reason: Ending) {
        phase = .ended
        ending = ending ?? reason
    }

    private func wait(until time: Instant?, from now: Instant) -> Duration {
        min(time.map { max($0 - now, .zero) } ?? Self.pauses.upperBound, Self.pauses.upperBound)
    }

    private var pause: Duration {
        if emptyClaims >= Self.idleAfter { return max(configuration.idlePause, Self.pauses.upperBound) }
        return min(Self.pauses.lowerBound * Double(1 << min(emptyClaims, 10)), Self.pauses.upperBound)
    }
}

extension Bool {
    /// Returns the value and resets it to false.
    mutating func take() -> Bool {
        defer { self = false }
        return self
    }
}
