internal import ImageModel
internal import JobQueue

/// The slots of a registered worker, and the next actions of its claim loop and its batch completer.
///
/// A pure value that reads no clock and does no I/O. `WorkerRegistration` reports events to it and performs the actions
/// that it returns.
///
/// A slot has one of these states:
/// - free → running: a claim brought a job.
/// - running → ended: the attempt has a result, which is gathered with others.
/// - running → free: the attempt was cut off and has no result; its job is released when the worker deregisters.
/// - ended → completing: the result is in the statement under way.
/// - completing → free: the result is committed.
/// - completing → ended: the statement failed, or another transaction has the job locked; the result is sent again.
/// - completing, ended → free: the result cannot be committed and the worker is cancelling.
///
/// The worker has one of these phases:
/// - claiming → finishing: shutdown is requested, the time is up, or the configured end is reached.
/// - claiming, finishing → cancelling: an urgent shutdown is requested, or the grace time is over.
/// - any → ended: the lease is lost, an error is final, the task is cancelled, or no slot is in use after claiming.
///
/// A worker with a fault of its own claims one job at a time, when no slot is in use, until an attempt shows that the
/// fault is over. The failures of the first jobs are held back while all are by the worker's own options; a drain then
/// ends, because its options do not change. A fault of a credential profile concerns only the jobs that name it, and
/// changes no claim.
struct WorkerState: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The next action of the claim loop.
    enum ClaimAction: Sendable {
        /// Claim at most this many jobs; report `claimed` or `claimFailed`.
        case claim(Int)
        /// Check whether the configured end is reached; report `checkedEnd` or `claimFailed`. `isIdle` when no slot is
        /// in use.
        case checkEnd(isIdle: Bool)
        /// Announce that claiming has ended while this many slots are in use.
        case announceStop(inUse: Int)
        /// Announce what the worker lacks, or nil when it lacks nothing any more.
        case announceFault(FailureReason?)
        /// Announce a profile that the worker cannot use.
        case announceProfileFault(ProfileFault)
        /// Report this text as the worker's fault to the database; nil when it has none any more.
        case reportFault(String?)
        /// Wake the batch completer.
        case wakeCompleter
        /// Cancel the attempts that run.
        case cancelAttempts
        /// Wait for a signal, at most this long.
        case wait(Duration)
        /// Cancel the attempts that run, if any, and leave the loop.
        case leave(Ending)
    }

    /// The next action of the batch completer.
    enum CompletionAction: Sendable {
        /// Commit these results together; report `completed`.
        case complete([AttemptResult])
        /// Wait for a signal, at most this long; without a limit when nil.
        case wait(Duration?)
    }

    /// Why a registration ended.
    enum Ending: Sendable {
        case finished
        case leaseLost
        case failed(QueueError)
    }

    private enum Phase: Comparable {
        case claiming, finishing, cancelling, ended
    }

    /// The constants and limits of a worker.
    struct Configuration: Sendable {
        /// Jobs that the worker holds at once, at least 1.
        var slots: Int
        /// When the worker ends by itself.
        var end = PrefetchWorker.End.stopped
        /// When claiming ends; nil is without limit.
        var deadline: Instant?
        /// How long attempts may run after claiming has ended.
        var grace = Duration.seconds(20)
        /// The pause between two claims of an idle worker, of `idlePauses`.
        var idlePause = WorkerState.pauses.upperBound
    }

    /// The pauses between two claims that return no job: doubled from the lower to the upper bound. The upper bound
    /// also limits every wait, so that the lease is checked that often.
    static let pauses: ClosedRange<Duration> = .milliseconds(50)...(.seconds(1))
    /// After so many claims without a job the upper bound is reached.
    static let idleAfter = 5
    /// The seconds between two claims, and between two heartbeats, of an idle worker. Each worker has its own pause, so
    /// that workers that start together do not claim together.
    static let idlePauses: ClosedRange<Double> = 1.0...1.1
    /// The pauses between two jobs of a worker with a fault: doubled from the lower to the upper bound.
    static let faultPauses: ClosedRange<Duration> = .milliseconds(250)...(.seconds(2))
    /// How long a job waits that met the worker's fault alone.
    static let faultJobPause = Duration.seconds(5)
    /// The longest time for which results are gathered while no slot waits for work. At 50 ms the statements of a worker
    /// that does 35 images a second took a third more of Postgres' time.
    static let gatherTime = Duration.milliseconds(200)
    /// Results per statement at most.
    static let maxBatch = 500
    /// The pause before results are sent again.
    static let retryPause = Duration.milliseconds(200)

    /// The worker's counts so far, previous registrations included.
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
    /// Nothing is sent before this time, because the last statement failed or left results over.
    private var retryAt: Instant?

    /// Nothing is claimed before this time, because the last claim was not filled. Nil: claim as soon as a slot is
    /// free.
    private var claimAt: Instant?
    private var emptyClaims = 0
    private var mustCheckEnd = false
    /// The fault that lets the worker run no job; nil without one.
    private var fault: FailureReason?
    /// Attempts in a row that ended with the fault, and when the next job may be claimed.
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
        // The command's own jobs fail by its options, and it says so.
        if case .batchFinished = configuration.end { isOver = true }
        settings = SettingsGuard(isOver: isOver)
    }

    /// Slots that are not free.
    var inUse: Int { running + gathered.count + completing + settings.count }

    /// Results that are held back take no slot: a worker with one slot would never have enough of them.
    private var free: Int { slots - running - gathered.count - completing }
    private var slots: Int { configuration.slots * width.factor }

    // MARK: - The claim loop

    /// The next action of the claim loop.
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

    /// Whether a statement may be sent: none is after one that failed, for a pause.
    private func isDue(at now: Instant) -> Bool { claimAt.map { $0 <= now } ?? true }

    /// The report of the worker's fault failed; it is repeated with the next claim.
    mutating func faultReportFailed() { mustReportFault = true }

    /// A claim for `limit` jobs returned `count`.
    mutating func claimed(_ count: Int, of limit: Int, at now: Instant) {
        running += count
        emptyClaims = count == 0 ? emptyClaims + 1 : 0
        mustCheckEnd = count == 0 && configuration.end != .stopped
        // After a filled claim there are probably more jobs; after any other the queue is empty for now.
        claimAt = count >= limit ? nil : now + pause
        if count == 0, running == 0 { recordHeld(at: now) }
    }

    /// There are probably jobs now: the next claim does not wait.
    mutating func claimAtOnce() { claimAt = nil }

    /// A claim or a check failed because the database is unavailable.
    mutating func claimFailed(at now: Instant) {
        emptyClaims += 1
        mustCheckEnd = false
        claimAt = now + pause
    }

    /// The check found that the end is reached, or that there is still work to wait for.
    ///
    /// Attempts that still run then belong to a cancelled batch: they are cancelled and their jobs released.
    mutating func checkedEnd(isReached: Bool) {
        mustCheckEnd = false
        guard isReached, phase == .claiming else { return }
        phase = .finishing
        mustCancelAttempts = running > 0
    }

    /// Shutdown is requested with this urgency.
    mutating func requestShutdown(_ urgency: ShutdownRequest.Urgency, at now: Instant) {
        if urgency > .none { finish(at: now) }
        if urgency == .cancel { cancel() }
    }

    /// The lease is lost: the jobs may belong to other workers.
    mutating func loseLease() { end(.leaseLost) }

    /// The worker's task is cancelled: it cannot wait, so results are no longer committed.
    mutating func abandon() { end(.finished) }

    /// An error that is not transient.
    mutating func fail(_ error: QueueError) { end(.failed(error)) }

    // MARK: - The batch completer

    /// An attempt ended with a result. True when the completer must be woken.
    mutating func ended(_ result: AttemptResult, at now: Instant) -> Bool {
        running -= 1
        var result = result
        // The next claim of a worker with a fault gets another job: what looks like its own may be this job's.
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

    /// Records the failures that are held back: no job follows that could show whether the settings are good.
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

    /// The next action of the batch completer.
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

    /// A statement ended with these decisions; the results of `left` were not recorded and are sent again.
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

    /// Results are gathered while an attempt runs, no free slot waits for work, and the worker is not cancelling.
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

    /// A slot is free: claim for it at once.
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
