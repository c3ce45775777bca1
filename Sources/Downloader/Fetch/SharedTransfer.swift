internal import CCurl

/// One transfer and those who wait for it, from the moment it is asked for.
///
/// Equal requests share a flight. Each has a ticket and can leave; the flight ends with the last one. Confined to the
/// downloader's thread.
final class SharedTransfer {
    typealias Continuation = CheckedContinuation<Result<Reply, FetchError>, Never>

    private struct Waiter {
        let ticket: UInt64
        let continuation: Continuation
        let asked: ContinuousClock.Instant
        let deadline: ContinuousClock.Instant?
    }

    let exchange: HTTPRequest
    let reception: ResponseHandler
    private(set) var slot: CurlTransfer?
    private var waiters: [Waiter] = []
    private var wasShared = false
    private var started: ContinuousClock.Instant?
    /// When the try under way began, and what it asks for.
    private(set) var began: ContinuousClock.Instant?
    private(set) var version = HTTPVersion.two
    private var resumptions = 0
    /// How much there was at the last resumption.
    private var resumedAt: Int64 = -1

    init(_ exchange: HTTPRequest, at now: ContinuousClock.Instant) {
        self.exchange = exchange
        reception = ResponseHandler(exchange, at: now)
    }

    // MARK: - Waiters

    /// Whether nobody waits any more.
    var isDeserted: Bool { waiters.isEmpty }

    /// Those who wait.
    var tickets: [UInt64] { waiters.map(\.ticket) }

    /// One more who waits; false when this flight cannot serve it.
    func board(
        _ ticket: UInt64, _ recipient: BodySink, _ continuation: Continuation, deadline: ContinuousClock.Instant?,
        at now: ContinuousClock.Instant
    ) -> Bool {
        guard reception.join(ticket, recipient) else { return false }
        if !waiters.isEmpty { wasShared = true }
        waiters.append(Waiter(ticket: ticket, continuation: continuation, asked: now, deadline: deadline))
        return true
    }

    /// One less, with this error; its file is not touched any more.
    func leave(_ ticket: UInt64, _ error: FetchError) {
        guard let index = waiters.firstIndex(where: { $0.ticket == ticket }) else { return }
        let waiter = waiters.remove(at: index)
        reception.leave(ticket)
        waiter.continuation.resume(returning: .failure(error))
    }

    /// Those whose time is over.
    func late(at now: ContinuousClock.Instant) -> [UInt64] {
        waiters.filter { $0.deadline.map { $0 <= now } ?? false }.map(\.ticket)
    }

    /// When it must next be looked at.
    var due: ContinuousClock.Instant? {
        let idle = slot == nil ? nil : reception.lastActivity + exchange.limits.idle
        return (waiters.compactMap(\.deadline) + [idle].compactMap { $0 }).min()
    }

    // MARK: - The transfer

    /// Begins, or goes on with a body that broke off, on this slot.
    func begin(on slot: CurlTransfer, _ version: HTTPVersion, at now: ContinuousClock.Instant) {
        self.slot = slot
        self.version = version
        began = now
        let start = started ?? now
        started = start
        reception.begins(at: now)
        slot.begin(exchange, reception, version, timeLeft: exchange.timeLeft - (now - start))
    }

    /// Makes ready for another try at the rest of a body that broke off; false when this is the end.
    func resume(after code: CURLcode, at now: ContinuousClock.Instant) -> Bool {
        guard let started, now - started < exchange.timeLeft, resumptions < exchange.limits.resumptions else {
            return false
        }
        // The callbacks said so themselves, or the connection was lost after something had come.
        switch reception.verdict {
        case .unusable?: break
        case .body?:
            guard FetchError.Code(code) == .connectionLost, reception.bytes > resumedAt else { return false }
        default: return false
        }
        let reached = reception.bytes
        guard reception.resume() else { return false }
        resumedAt = reached
        resumptions += 1
        return true
    }

    /// Makes ready to be asked for once more, from the beginning; false when that cannot be, or time is up.
    func restart(at now: ContinuousClock.Instant) -> Bool {
        guard let started, now - started < exchange.timeLeft else { return false }
        return reception.restart()
    }

    /// Whether no word has come for as long as the limit allows.
    func isIdle(at now: ContinuousClock.Instant) -> Bool {
        slot != nil && reception.lastActivity + exchange.limits.idle <= now
    }

    /// The end: everybody who still waits gets the answer. The slot must be out of the multi handle already.
    func end(_ code: CURLcode, at now: ContinuousClock.Instant) {
        let failure = FetchError(.transportFailed, "\(exchange.url): no memory for a transfer")
        let result = slot.map { $0.end(code, resumptions: resumptions) } ?? .failure(failure)
        for (number, waiter) in waiters.enumerated() {
            let own = reception.failure(of: waiter.ticket).map { Result<Reply, FetchError>.failure($0) }
            let shared = result.mapError { error in
                var error = error
                error.isShared = number > 0
                return error
            }
            waiter.continuation.resume(returning: own ?? shared.map { complete($0, for: waiter, at: now) })
        }
        waiters = []
        leaveSlot()
    }

    /// Lets the slot go; nothing reaches a recipient any more.
    func leaveSlot() {
        slot?.abandon()
        slot = nil
    }

    private func complete(_ reply: Reply, for waiter: Waiter, at now: ContinuousClock.Instant) -> Reply {
        var reply = reply
        let start = started ?? now
        reply.shared = wasShared
        reply.queued = max(.zero, start - waiter.asked)
        reply.total = now - max(start, waiter.asked)
        return reply
    }
}
