import ImageModel
import JobQueue
import Prefetcher
import Testing

@testable import Worker

/// The slots and steps of a worker, without threads, clocks or a database.
@Suite struct WorkerStateTests {
    private let start = ContinuousClock.now
    private let longest = WorkerState.pauses.upperBound

    private func state(slots: Int, _ end: PrefetchWorker.End = .stopped) -> WorkerState {
        WorkerState(.init(slots: slots, end: end))
    }

    /// A state whose slots all run.
    private func busy(slots: Int, _ end: PrefetchWorker.End = .stopped) -> WorkerState {
        var state = state(slots: slots, end)
        state.claimed(slots, of: slots, at: start)
        return state
    }

    private func result(_ id: Int64) -> AttemptResult { .released(Job(id: id, claim: 1, url: "https://host.example/")) }

    /// Ends attempts with these numbers; whether the completer is woken by the last.
    @discardableResult
    private func end(_ ids: ClosedRange<Int64>, in state: inout WorkerState, at time: ContinuousClock.Instant) -> Bool {
        ids.map { state.ended(result($0), at: time) }.last ?? false
    }

    /// Completes what is due as succeeded.
    private func commit(_ state: inout WorkerState, at time: ContinuousClock.Instant) -> Int {
        guard case .complete(let results) = state.nextCompletionAction(at: time) else { return 0 }
        state.completed(results.map { _ in .succeeded }, left: [], at: time)
        return results.count
    }

    // MARK: - Claiming

    @Test func `the first action claims for every slot`() {
        var state = state(slots: 8)
        #expect(state.nextClaimAction(at: start) == "claim 8")
    }

    @Test func `a filled claim is followed by a claim for the slots that become free`() {
        var state = busy(slots: 8)
        #expect(state.nextClaimAction(at: start) == "wait 1.0 seconds")
        end(1...3, in: &state, at: start)
        #expect(
            state.nextClaimAction(at: start) == "wait 1.0 seconds", "a slot is free only once its result is committed")
        #expect(commit(&state, at: start) == 3)
        #expect(state.nextClaimAction(at: start) == "claim 3")
    }

    @Test func `a claim that is not filled is followed by a pause, except for slots that become free`() {
        var state = state(slots: 8)
        state.claimed(2, of: 8, at: start)
        #expect(state.nextClaimAction(at: start) == "wait 0.05 seconds")
        #expect(state.nextClaimAction(at: start + .milliseconds(50)) == "claim 6")
        end(1...1, in: &state, at: start)
        _ = commit(&state, at: start)
        #expect(state.nextClaimAction(at: start) == "claim 7")
    }

    @Test func `claims that bring nothing become rarer up to the longest pause, and work makes them frequent again`() {
        var state = state(slots: 8)
        var pauses: [Duration] = []
        for _ in 0..<8 {
            state.claimed(0, of: 8, at: start)
            if case .wait(let pause) = state.nextClaimAction(at: start) { pauses.append(pause) }
        }
        #expect(pauses.count == 8)
        #expect(pauses == pauses.sorted())
        #expect(pauses.last == longest)
        state.claimed(1, of: 8, at: start)
        #expect(state.nextClaimAction(at: start) == "wait 0.05 seconds")
    }

    @Test func `an idle worker claims after its own pause, at once when maintenance has probably made jobs ready`() {
        var state = WorkerState(.init(slots: 8, idlePause: .milliseconds(1_050)))
        for _ in 0..<WorkerState.idleAfter { state.claimed(0, of: 8, at: start) }
        #expect(state.nextClaimAction(at: start + longest) == "wait 0.05 seconds")
        let later = start + .milliseconds(1_050)
        #expect(state.nextClaimAction(at: later) == "claim 8")
        state.claimed(0, of: 8, at: later)
        #expect(state.nextClaimAction(at: later) == "wait 1.0 seconds")
        state.claimAtOnce()
        #expect(state.nextClaimAction(at: later) == "claim 8")
    }

    @Test func `an idle drain checks for the end after each claim, and so about once a second`() {
        var state = state(slots: 8, .drained)
        var now = start
        for _ in 0..<9 {
            state.claimed(0, of: 8, at: now)
            #expect(state.nextClaimAction(at: now) == "check, idle")
            state.checkedEnd(isReached: false)
            guard case .wait(let pause) = state.nextClaimAction(at: now) else { return #expect(Bool(false)) }
            now += pause
            #expect(state.nextClaimAction(at: now) == "claim 8")
        }
        #expect(now - start >= .seconds(5))
    }

    @Test func `a failed claim is repeated after a pause and is no reason to check for the end`() {
        var state = state(slots: 8, .drained)
        state.claimFailed(at: start)
        #expect(state.nextClaimAction(at: start) == "wait 0.1 seconds")
        #expect(state.nextClaimAction(at: start + .milliseconds(100)) == "claim 8")
    }

    // MARK: - The end

    @Test func `a drain checks for the end only after an empty claim and when no slot is in use`() {
        var state = state(slots: 4, .drained)
        state.claimed(1, of: 4, at: start)
        #expect(state.nextClaimAction(at: start) == "wait 0.05 seconds")
        state.claimed(0, of: 3, at: start)
        #expect(state.nextClaimAction(at: start) == "wait 0.1 seconds")
        end(1...1, in: &state, at: start)
        _ = commit(&state, at: start)
        #expect(state.nextClaimAction(at: start) == "claim 4")
        state.claimed(0, of: 4, at: start)
        #expect(state.nextClaimAction(at: start) == "check, idle")
        state.checkedEnd(isReached: false)
        #expect(state.nextClaimAction(at: start) == "wait 0.2 seconds")
        state.claimed(0, of: 4, at: start)
        state.checkedEnd(isReached: true)
        #expect(state.nextClaimAction(at: start) == "leave finished")
    }

    @Test func `a finished batch cancels the attempts that still run for it`() {
        var state = state(slots: 4, .batchFinished(1))
        state.claimed(2, of: 4, at: start)
        state.claimed(0, of: 2, at: start)
        #expect(state.nextClaimAction(at: start) == "check")
        state.checkedEnd(isReached: true)
        #expect(state.nextClaimAction(at: start) == "cancel")
        #expect(state.nextClaimAction(at: start) == "wait 1.0 seconds")
        state.cutOff()
        state.cutOff()
        #expect(state.nextClaimAction(at: start) == "leave finished")
    }

    @Test func `after a shutdown request nothing is claimed, and the worker leaves when its slots are free`() {
        var state = state(slots: 4)
        state.claimed(2, of: 4, at: start)
        state.requestShutdown(.finish, at: start)
        #expect(state.nextClaimAction(at: start) == "stop 2")
        state.requestShutdown(.finish, at: start)
        #expect(state.nextClaimAction(at: start) == "wait 1.0 seconds")
        end(1...2, in: &state, at: start)
        #expect(commit(&state, at: start) == 2)
        #expect(state.nextClaimAction(at: start) == "leave finished")
    }

    @Test func `attempts are cancelled when the grace time is over`() {
        var state = busy(slots: 2)
        state.requestShutdown(.finish, at: start)
        #expect(state.nextClaimAction(at: start) == "stop 2")
        #expect(state.nextClaimAction(at: start + .milliseconds(19_500)) == "wait 0.5 seconds")
        #expect(state.nextClaimAction(at: start + .seconds(20)) == "cancel")
    }

    @Test func `claiming ends when the time is up`() {
        var state = WorkerState(.init(slots: 2, deadline: start + .milliseconds(300)))
        state.claimed(2, of: 2, at: start)
        #expect(state.nextClaimAction(at: start) == "wait 0.3 seconds")
        #expect(!state.summary.timeIsUp)
        #expect(state.nextClaimAction(at: start + .milliseconds(300)) == "stop 2")
        #expect(state.summary.timeIsUp)
    }

    @Test func `a lost lease ends the loop whatever the slots hold`() {
        var state = busy(slots: 2)
        state.loseLease()
        state.requestShutdown(.cancel, at: start)
        #expect(state.nextClaimAction(at: start) == "leave leaseLost")
    }

    // MARK: - Completing

    @Test func `results of a busy worker are gathered until they fill a quarter of the slots`() {
        var state = busy(slots: 32)
        #expect(end(1...1, in: &state, at: start), "the first result starts the gather time")
        #expect(state.nextCompletionAction(at: start) == "wait 0.2 seconds")
        #expect(!end(2...7, in: &state, at: start))
        #expect(end(8...8, in: &state, at: start))
        #expect(state.nextCompletionAction(at: start) == "complete 1 2 3 4 5 6 7 8")
    }

    @Test func `results of a busy worker are gathered for 200 ms at most`() {
        var state = busy(slots: 32)
        end(1...1, in: &state, at: start)
        end(2...2, in: &state, at: start + .milliseconds(190))
        #expect(state.nextCompletionAction(at: start + .milliseconds(190)) == "wait 0.01 seconds")
        #expect(state.nextCompletionAction(at: start + .milliseconds(200)) == "complete 1 2")
        #expect(state.nextCompletionAction(at: start + .milliseconds(200)) == "wait")
    }

    @Test func `results are completed at once when a free slot waits for work, or when nothing runs`() {
        var starved = state(slots: 32)
        starved.claimed(20, of: 32, at: start)
        end(1...1, in: &starved, at: start)
        #expect(starved.nextCompletionAction(at: start) == "complete 1")

        var idle = busy(slots: 8)
        end(1...8, in: &idle, at: start)
        #expect(idle.nextCompletionAction(at: start) == "complete 1 2 3 4 5 6 7 8")
    }

    @Test func `slots that are about to be claimed for do not end the gathering`() {
        var state = busy(slots: 32)
        end(1...8, in: &state, at: start)
        #expect(commit(&state, at: start) == 8)
        end(9...9, in: &state, at: start)
        #expect(state.nextCompletionAction(at: start) == "wait 0.2 seconds")
    }

    @Test func `a statement takes 500 results at most`() {
        var state = busy(slots: 700)
        end(1...700, in: &state, at: start)
        #expect([commit(&state, at: start), commit(&state, at: start), commit(&state, at: start)] == [500, 200, 0])
    }

    @Test func `results that were not recorded keep their slots and are sent again after a pause`() {
        var state = busy(slots: 4)
        end(1...2, in: &state, at: start)
        guard case .complete(let sent) = state.nextCompletionAction(at: start) else {
            Issue.record("nothing was completed")
            return
        }
        state.completed([.busy, .succeeded], left: [sent[0]], at: start)
        #expect(state.inUse == 3)
        #expect(state.summary.succeeded == 1)
        end(3...4, in: &state, at: start)
        #expect(state.nextCompletionAction(at: start) == "wait 0.2 seconds")
        #expect(state.nextCompletionAction(at: start + .milliseconds(200)) == "complete 1 3 4")
    }

    @Test func `a cancelling worker still completes what ended, and gives up what cannot be completed`() {
        var state = busy(slots: 32)
        end(1...1, in: &state, at: start)
        state.requestShutdown(.cancel, at: start)
        #expect(state.nextClaimAction(at: start) == "stop 32")
        #expect(state.nextClaimAction(at: start) == "cancel")
        guard case .complete(let sent) = state.nextCompletionAction(at: start) else {
            Issue.record("nothing was completed")
            return
        }
        for _ in 0..<31 { state.cutOff() }
        #expect(state.nextClaimAction(at: start) == "wait 1.0 seconds")
        state.completed([], left: sent, at: start)
        #expect(state.nextClaimAction(at: start) == "leave finished")
    }

    @Test func `a worker that is cancelled while the database is unavailable gives up its results at once`() {
        var state = busy(slots: 1)
        end(1...1, in: &state, at: start)
        guard case .complete(let sent) = state.nextCompletionAction(at: start) else {
            Issue.record("nothing was completed")
            return
        }
        state.completed([], left: sent, at: start)
        state.requestShutdown(.cancel, at: start)
        _ = state.nextClaimAction(at: start)
        _ = state.nextClaimAction(at: start)
        #expect(state.nextClaimAction(at: start) == "leave finished")
    }

    // MARK: - Faults of the worker

    private let fault = FailureReason(domain: "LarderErrorDomain", code: 501, message: "no route")

    /// Ends and commits one attempt.
    private func end(_ result: AttemptResult, in state: inout WorkerState, at time: ContinuousClock.Instant) {
        _ = state.ended(result, at: time)
        guard case .complete = state.nextCompletionAction(at: time + .seconds(1)) else { return }
        state.completed([], left: [], at: time)
    }

    private func job(_ id: Int64) -> Job { Job(id: id, claim: 1, url: "https://host.example/") }

    /// A result whose attempt downloaded a body.
    private func good(_ id: Int64) -> AttemptResult {
        var load = LoadReport()
        load.downloads = 1
        return AttemptResult(job(id), .succeeded, load, waited: .zero)
    }

    @Test
    func `a worker with a fault claims one job at a time, ever more rarely, until an attempt shows that it is over`() {
        var state = busy(slots: 2)
        end(.returned(job(1), because: fault), in: &state, at: start)
        #expect(state.nextClaimAction(at: start) == "fault no route")
        #expect(state.nextClaimAction(at: start) == "report no route")
        #expect(state.nextClaimAction(at: start + .seconds(1)) == "wait 1.0 seconds", "an attempt still runs")
        end(.returned(job(2), because: fault), in: &state, at: start)
        var now = start
        for pause in [0.25, 0.5, 1.0, 2.0, 2.0] {
            #expect(state.nextClaimAction(at: now) == "wait \(Duration.seconds(min(pause, 1)))")
            now += .seconds(pause)
            #expect(state.nextClaimAction(at: now) == "claim 1")
            state.claimed(1, of: 1, at: now)
            end(.returned(job(3), because: fault), in: &state, at: now)
        }
        now += .seconds(2)
        #expect(state.nextClaimAction(at: now) == "claim 1")
        state.claimed(1, of: 1, at: now)
        end(result(4), in: &state, at: now)
        #expect(state.nextClaimAction(at: now) == "claim 1", "the result says nothing about the fault")
        state.claimed(1, of: 1, at: now)
        let blocked = FailureReason(.blocked, "blocked")
        end(AttemptResult(job(6), .failed(blocked), LoadReport(), waited: .zero), in: &state, at: now)
        #expect(state.nextClaimAction(at: now) == "claim 1", "nothing was requested")
        state.claimed(1, of: 1, at: now)
        end(good(5), in: &state, at: now)
        #expect(state.nextClaimAction(at: now) == "no fault")
        #expect(state.nextClaimAction(at: now) == "report nothing")
        #expect(state.nextClaimAction(at: now) == "claim 2")
    }

    @Test func `a job that meets the worker's fault alone waits, so that the next claim gets another one`() throws {
        var state = busy(slots: 2)
        func delays(_ id: Int64) -> [Duration?] {
            _ = state.ended(.returned(job(id), because: fault), at: start)
            guard case .complete(let results) = state.nextCompletionAction(at: start + .seconds(1)) else { return [] }
            state.completed([], left: [], at: start)
            return results.map(\.delay)
        }
        #expect(delays(1) == [.zero], "other attempts run")
        #expect(delays(2) == [.seconds(5)])
        state.claimed(1, of: 1, at: start)
        #expect(delays(3) == [.seconds(5)])
    }

    /// The result of a job whose credential profile the worker does not have.
    private func unknownProfile(_ id: Int64, batch: Int64) -> AttemptResult {
        var reason = FailureReason(.localFault, "unknown profile")
        reason.profile = "cdn"
        return .returned(Job(id: id, claim: 1, url: "https://host.example/", batch: batch), because: reason)
    }

    @Test func `a fault of a credential profile returns its jobs for a minute and leaves all slots to others`() {
        var state = WorkerState(.init(slots: 4))
        state.claimed(4, of: 4, at: start)
        for id in 1...3 {
            let result = unknownProfile(Int64(id), batch: id < 3 ? 7 : 8)
            #expect(result.delay == .seconds(60))
            #expect(!result.showsHealth)
            end(result, in: &state, at: start)
        }
        #expect(state.nextClaimAction(at: start) == "profile cdn of batch 7")
        #expect(state.nextClaimAction(at: start) == "profile cdn of batch 8")
        let summary = "only jobs that need 'cdn' of batch 7: unknown profile"
        #expect(state.nextClaimAction(at: start) == "report \(summary) (and 1 more of other batches or profiles)")
        #expect(state.nextClaimAction(at: start) == "claim 3")
        // Batch 7 has such jobs again after a minute, batch 8 has none any more.
        state.claimed(3, of: 3, at: start)
        end(unknownProfile(1, batch: 7), in: &state, at: start + .seconds(60))
        #expect(state.nextClaimAction(at: start + .seconds(60)) == "claim 1")
        #expect(state.nextClaimAction(at: start + .seconds(120)) == "report \(summary)")
        #expect(state.nextClaimAction(at: start + .seconds(180)) == "report nothing")
    }

    @Test func `a fault of a credential profile neither ends nor replaces a fault of the worker`() {
        var state = busy(slots: 2)
        end(.returned(job(1), because: fault), in: &state, at: start)
        end(unknownProfile(2, batch: 7), in: &state, at: start)
        #expect(state.nextClaimAction(at: start) == "fault no route")
        #expect(state.nextClaimAction(at: start) == "profile cdn of batch 7")
        #expect(state.nextClaimAction(at: start) == "report no route")
        #expect(state.nextClaimAction(at: start + .seconds(1)) == "claim 1")
    }

    @Test func `a drain with a fault goes on until its time is up`() {
        var state = WorkerState(.init(slots: 2, end: .drained, deadline: start + .seconds(3)))
        state.claimed(2, of: 2, at: start)
        end(.returned(job(1), because: fault), in: &state, at: start)
        end(.returned(job(2), because: fault), in: &state, at: start)
        #expect(state.nextClaimAction(at: start) == "fault no route")
        #expect(state.nextClaimAction(at: start) == "report no route")
        #expect(state.nextClaimAction(at: start + .seconds(3)) == "stop 0")
        #expect(state.summary.timeIsUp)
    }

    /// The result of a job whose port this worker does not allow.
    private func refused(_ id: Int64) -> AttemptResult {
        var reason = FailureReason(.portRefused, "port 8000 is refused")
        reason.needs = [.port(8000)]
        return AttemptResult(job(id), .failed(reason), LoadReport(), waited: .zero)
    }

    @Test func `a drain whose first jobs all fail for its options ends, and returns them`() throws {
        var state = WorkerState(.init(slots: 1, end: .drained))
        for id in 1..<SettingsGuard.limit {
            #expect(state.nextClaimAction(at: start) == "claim 1", "a result that is not yet sent takes no slot")
            state.claimed(1, of: 1, at: start)
            _ = state.ended(refused(Int64(id)), at: start)
            #expect(state.nextCompletionAction(at: start) == "wait")
        }
        state.claimed(1, of: 1, at: start)
        _ = state.ended(refused(20), at: start)
        guard case .complete(let results) = state.nextCompletionAction(at: start) else {
            Issue.record("nothing is returned")
            return
        }
        #expect(results.count == SettingsGuard.limit)
        #expect(results.allSatisfy { $0.delay != nil })
        #expect(results.first?.fault?.needs == [.port(8000)])
        #expect(state.nextClaimAction(at: start) == "stop 20")
        state.completed([], left: [], at: start)
        guard case .announceFault = state.nextClaimAction(at: start) else {
            Issue.record("the fault is not announced")
            return
        }
    }

    @Test func `a worker that goes on claims one job at a time after such jobs, until one is accepted`() {
        var state = busy(slots: 32)
        for id in 1...32 { _ = state.ended(refused(Int64(id)), at: start) }
        _ = state.nextClaimAction(at: start)
        _ = state.nextClaimAction(at: start)
        guard case .complete(let results) = state.nextCompletionAction(at: start) else { return }
        #expect(results.count == 32)
        #expect(results.allSatisfy { $0.delay != nil })
        state.completed([], left: [], at: start)
        let later = start + .seconds(1)
        #expect(state.nextClaimAction(at: later) == "claim 1")
        state.claimed(1, of: 1, at: later)
        _ = state.ended(good(33), at: later)
        #expect(state.nextClaimAction(at: later) == "no fault")
        state.completed([], left: [], at: later)
    }

    @Test func `refused jobs fail as any other once a job was accepted, or none follows`() {
        var state = busy(slots: 4, .drained)
        _ = state.ended(refused(1), at: start)
        _ = state.ended(good(2), at: start)
        #expect(state.nextCompletionAction(at: start + .seconds(1)) == "complete 1 2")
        state.completed([.failed(FailureReason(.portRefused, "")), .succeeded], left: [], at: start)
        _ = state.ended(refused(3), at: start)
        _ = state.ended(refused(4), at: start)
        #expect(state.nextCompletionAction(at: start + .seconds(1)) == "complete 3 4")

        var few = WorkerState(.init(slots: 4, end: .drained))
        few.claimed(1, of: 4, at: start)
        _ = few.ended(refused(5), at: start)
        #expect(few.nextCompletionAction(at: start) == "wait")
        #expect(few.inUse == 1)
        few.claimed(0, of: 4, at: start)
        #expect(few.nextClaimAction(at: start) == "wake")
        #expect(few.nextCompletionAction(at: start) == "complete 5")
    }

    @Test func `the jobs of a run fail at once, whatever the reason`() {
        var state = busy(slots: 1, .batchFinished(1))
        let wakes = state.ended(refused(1), at: start)
        #expect(wakes)
        #expect(state.nextCompletionAction(at: start) == "complete 1")
    }

    @Test func `decisions are counted`() {
        var state = busy(slots: 5)
        end(1...5, in: &state, at: start)
        _ = state.nextCompletionAction(at: start)
        let failure = FailureReason(domain: "LarderErrorDomain", code: 101, message: "")
        state.completed(
            [.succeeded, .failed(failure), .retried(after: .zero), .cancelled, .stale], left: [], at: start)
        let summary = state.summary
        #expect(summary.succeeded == 1)
        #expect(summary.failed == 1)
        #expect(summary.retried == 1)
        #expect(state.inUse == 0)
    }
}

/// Actions compare with a short text, so that a failed expectation shows the action.
private func == (action: WorkerState.ClaimAction, text: String) -> Bool {
    switch action {
    case .claim(let count): text == "claim \(count)"
    case .checkEnd(let isIdle): text == (isIdle ? "check, idle" : "check")
    case .announceStop(let inUse): text == "stop \(inUse)"
    case .announceFault(let fault): text == (fault.map { "fault \($0.message)" } ?? "no fault")
    case .announceProfileFault(let fault): text == "profile \(fault.profile) of batch \(fault.batch)"
    case .reportFault(let fault): text == "report \(fault ?? "nothing")"
    case .cancelAttempts: text == "cancel"
    case .wakeCompleter: text == "wake"
    case .wait(let time): text == "wait \(time)"
    case .leave(let ending): text == "leave \(ending)"
    }
}

private func == (action: WorkerState.CompletionAction, text: String) -> Bool {
    switch action {
    case .complete(let results): text == "complete " + results.map { "\($0.job.id)" }.joined(separator: " ")
    case .wait(let time?): text == "wait \(time)"
    case .wait(nil): text == "wait"
    }
}
