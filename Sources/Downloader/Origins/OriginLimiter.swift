package import Concurrency

/// What a program knows of the origins it asks: each request passes here before it starts and tells how it went.
///
/// Who may not start now waits, where that is short, or is refused with the time to come back at: a worker gives such
/// a job back to its queue, so that an origin that is held takes no slot from the others. What other workers should
/// hear of is kept until it is taken by `takeChanges`; `learn` brings what they found.
package final class OriginLimiter: Sendable {
    fileprivate struct State: Sendable {
        var table: OriginTable
        var waiting: [Origin: [UInt64: CheckedContinuation<Void, Never>]] = [:]
        var nextTicket: UInt64 = 0
        var changes: [Origin: [OriginChange]] = [:]
    }

    /// A request that passed.
    package struct Passage: Sendable {
        let origin: Origin
        let pass: OriginPermit
    }

    package let settings: OriginSettings
    /// Rung when there is a change to take.
    package let changed = AsyncEvent()
    private let state: Locked<State>
    private let now: @Sendable () -> ContinuousClock.Instant

    /// A gate that knows nothing yet.
    package init(
        _ settings: OriginSettings = OriginSettings(), now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.settings = settings
        self.now = now
        state = Locked(State(table: OriginTable(settings)))
    }

    // MARK: - Requests

    /// Waits until a request to the URL's origin may start. Whoever passed must `leave`.
    ///
    /// - Throws: `originHeld` with the time to come back after; the error of the last request to an origin that was
    ///   given up; `cancelled`.
    package func enter(_ url: SourceURL) async throws(FetchError) -> Passage {
        let origin = url.origin
        let start = now()
        while true {
            if Task.isCancelled {
                passOn(origin)
                throw FetchError(.cancelled, "\(url): cancelled")
            }
            switch state.withLock({ $0.table.ask(origin, at: now()) }) {
            case .go(let pass, let turn):
                let passage = Passage(origin: origin, pass: pass)
                if turn <= now() { return passage }
                try? await Task.sleep(until: turn)
                // What came up meanwhile keeps those away, too, who stood in line.
                if !Task.isCancelled && state.withLock({ $0.table.away(origin, at: now()) }) == nil { return passage }
                leave(passage, .unknown)
            case .full:
                await waitForRoom(origin)
            case .held(let until):
                guard until - start <= settings.patience else {
                    passOn(origin)
                    throw Self.held(url, for: until - now())
                }
                try? await Task.sleep(until: until)
            case .down(let trouble):
                passOn(origin)
                throw FetchError(
                    trouble.code, "\(url): not asked, as \(origin) is down: \(settings.probes) probes failed in a row",
                    httpStatus: trouble.httpStatus)
            }
        }
    }

    /// Lets others have the room that one who gives up may have been woken for.
    private func passOn(_ origin: Origin) {
        let woken = state.withLock { $0.wake(origin, $0.table.free(origin)) }
        for continuation in woken { continuation.resume() }
    }

    private static func held(_ url: SourceURL, for wait: Duration) -> FetchError {
        let wait = max(wait, .milliseconds(1))
        return FetchError(
            .originHeld, "\(url): not asked, as \(url.origin) is left alone for \(Int(wait.seconds.rounded(.up))) s",
            retryAfter: wait
        )
    }

    /// Tells how a request went. What it changes is known here at once.
    package func leave(_ passage: Passage, _ result: RequestOutcome) {
        let (woken, hasChanged) = state.withLock { state in
            let changes = state.table.end(passage.origin, passage.pass, result, at: now())
            if !changes.isEmpty { state.note([passage.origin: changes]) }
            // After a change everybody hears of it; else as many go on as there is room for.
            let room = changes.isEmpty ? state.table.free(passage.origin) : nil
            return (state.wake(passage.origin, room), !changes.isEmpty)
        }
        for continuation in woken { continuation.resume() }
        if hasChanged { changed.signal() }
    }

    /// Returns when there may be room, or when the task is cancelled.
    private func waitForRoom(_ origin: Origin) async {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // The flag is set before the handler runs: seen here, or the handler finds the continuation. And
                    // room may have come since the question.
                    if Task.isCancelled || state.table.free(origin) != 0 { return true }
                    state.waiting[origin, default: [:]][ticket] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter: CheckedContinuation<Void, Never>? = state.withLock { state in
                guard let waiter = state.waiting[origin]?.removeValue(forKey: ticket) else { return nil }
                if state.waiting[origin]?.isEmpty == true { state.waiting[origin] = nil }
                return waiter
            }
            waiter?.resume()
        }
        // Woken and cancelled at once: the room is another's.
        if Task.isCancelled {
            let woken = state.withLock { $0.wake(origin, $0.table.free(origin)) }
            for continuation in woken { continuation.resume() }
        }
    }

    // MARK: - Other workers

    /// What changed since the last call, for each origin at most one change of its hold and one of its breaker.
    package func takeChanges() -> [Origin: [OriginChange]] {
        state.withLock { state in
            defer { state.changes = [:] }
            return state.changes
        }
    }

    /// Takes changes back that could not be told; newer ones stay.
    package func putBack(_ changes: [Origin: [OriginChange]]) {
        state.withLock { state in
            let newer = state.changes
            state.changes = changes
            state.note(newer)
        }
    }

    /// Others know of these changes now.
    package func shared(_ changes: [Origin: [OriginChange]]) {
        state.withLock { state in for (origin, changes) in changes { state.table.shared(origin, changes) } }
    }

    /// What counts against an origin from now on.
    package func judge(by faults: OriginFaults) { state.withLock { $0.table.faults = faults } }

    /// Takes over all that the others know.
    package func learn(_ known: [SharedOrigin]) {
        let woken = state.withLock { state in
            state.table.learn(known, at: now())
            return state.waiting.keys.flatMap { state.wake($0, nil) }
        }
        for continuation in woken { continuation.resume() }
    }
}

extension OriginLimiter.State {
    /// Keeps changes to be taken; what is said anew of a hold or of a breaker takes the place of what was said before.
    fileprivate mutating func note(_ newer: [Origin: [OriginChange]]) {
        for (origin, changes) in newer {
            let kept = (self.changes[origin] ?? []).filter { old in
                !changes.contains { $0.isOfHold == old.isOfHold }
            }
            self.changes[origin] = kept + changes
        }
    }

    /// Takes out the longest waiting, at most `room`, all when nil.
    fileprivate mutating func wake(_ origin: Origin, _ room: Int?) -> [CheckedContinuation<Void, Never>] {
        guard let line = waiting[origin] else { return [] }
        let tickets = line.keys.sorted().prefix(room ?? line.count)
        let woken = tickets.compactMap { waiting[origin]?.removeValue(forKey: $0) }
        if waiting[origin]?.isEmpty == true { waiting[origin] = nil }
        return woken
    }
}
