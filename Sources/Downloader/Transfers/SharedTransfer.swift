internal import CCurl

/// One transfer and its waiting requests, from the first subscription to the result.
///
/// Equal requests share a transfer. Each may unsubscribe; the transfer ends with the last. Confined to the network
/// thread.
final class SharedTransfer {
    typealias Continuation = CheckedContinuation<Result<FetchResponse, FetchError>, Never>

    private struct Subscriber {
        let ticket: UInt64
        let sink: BodySink
        let continuation: Continuation
        let since: ContinuousClock.Instant
        let deadline: ContinuousClock.Instant?
        let observesWait: (@Sendable (FetchWait, Duration) -> Void)?
    }

    let request: HTTPRequest
    private let handler: ResponseHandler
    private var subscribers: [Subscriber] = []
    private var wasShared = false
    private(set) var curl: CurlTransfer?
    /// The permit from the origin's limits; nil while waiting for it.
    private(set) var permit: OriginPermit?
    private var started: ContinuousClock.Instant?
    /// When the current try began.
    private(set) var began: ContinuousClock.Instant?
    private(set) var usesHTTP2 = false
    private var resumptions = 0
    /// The body's length at the last resumption.
    private var resumedAt: Int64 = -1

    init(_ request: HTTPRequest, at now: ContinuousClock.Instant) {
        self.request = request
        handler = ResponseHandler(request, at: now)
    }

    // MARK: - Subscribers

    var isEmpty: Bool { subscribers.isEmpty }
    var tickets: [UInt64] { subscribers.map(\.ticket) }

    /// Adds a request; false if it cannot receive the bytes that have already arrived.
    func subscribe(
        _ ticket: UInt64, _ fetch: FetchRequest, into writer: BodyWriter, _ continuation: Continuation,
        at now: ContinuousClock.Instant
    ) -> Bool {
        let sink = BodySink(fetch, request.url, writer)
        guard handler.add(sink) else { return false }
        if !subscribers.isEmpty { wasShared = true }
        subscribers.append(
            Subscriber(
                ticket: ticket, sink: sink, continuation: continuation, since: now, deadline: fetch.deadline,
                observesWait: fetch.observesWait))
        return true
    }

    /// Ends one request with an error, after any write to its file.
    func unsubscribe(_ ticket: UInt64, _ error: FetchError) {
        guard let index = subscribers.firstIndex(where: { $0.ticket == ticket }) else { return }
        let subscriber = subscribers.remove(at: index)
        handler.remove(subscriber.sink)
        let continuation = subscriber.continuation
        subscriber.sink.close(discarding: true) { _ in continuation.resume(returning: .failure(error)) }
    }

    func late(at now: ContinuousClock.Instant) -> [UInt64] {
        subscribers.filter { $0.deadline.map { $0 <= now } ?? false }.map(\.ticket)
    }

    // MARK: - The transfer

    /// Starts the transfer, or its next try, on a curl handle.
    func begin(on curl: CurlTransfer, _ permit: OriginPermit, http2: Bool, at now: ContinuousClock.Instant) {
        self.curl = curl
        self.permit = permit
        usesHTTP2 = http2 && request.url.origin.scheme == .https
        began = now
        started = started ?? now
        handler.begin(at: now)
        curl.begin(request, handler, http2: usesHTTP2)
    }

    var hasHead: Bool { handler.verdict != nil }

    /// The file of a request has room again, has none, or failed.
    func writerChanged(_ ticket: UInt64) { subscribers.first { $0.ticket == ticket }?.sink.writerChanged() }

    var isReceived: Bool { handler.isReceived }

    /// Whether reading is paused because a file has no room.
    var isPaused: Bool { handler.pausedAt != nil }

    /// Whether it is paused and stops the other transfers of its connection.
    var stopsConnection: Bool { isPaused && handler.sharesConnection }

    /// Pauses the transfer while a file has no room. True if the other transfers of its connection continue.
    func adjustPause(at now: ContinuousClock.Instant) -> Bool {
        let stoppedConnection = stopsConnection
        if let curl, handler.adjustPause(at: now) { curl.easy.pause(isPaused) }
        return stoppedConnection && !isPaused
    }

    func continuesWithConnection(at now: ContinuousClock.Instant) { handler.continuesWithConnection(at: now) }

    /// Prepares to continue a broken body; false if the transfer has ended.
    func resume(after code: CURLcode, at now: ContinuousClock.Instant) -> Bool {
        guard hasTime(at: now), resumptions < request.limits.resumptions else { return false }
        switch handler.verdict {
        case .unusable?: break
        case .body?:
            guard FetchError.Code(code) == .connectionLost, handler.bytes > resumedAt else { return false }
        default: return false
        }
        let reached = handler.bytes
        guard handler.resume() else { return false }
        resumedAt = reached
        resumptions += 1
        return true
    }

    /// Prepares to send the request again; false if the transfer has ended.
    func restart(at now: ContinuousClock.Instant) -> Bool { hasTime(at: now) && handler.restart() }

    private func hasTime(at now: ContinuousClock.Instant) -> Bool {
        handler.startedAt.map { now - $0 - handler.pausedTime < request.timeLeft } ?? true
    }

    /// When a deadline or limit may be exceeded next.
    func due(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        var times = subscribers.compactMap(\.deadline)
        if curl != nil, !isPaused {
            times.append((handler.isQueued ? now : handler.lastActivity) + request.limits.idle)
            times.append((handler.startedAt ?? now) + request.timeLeft + handler.pausedTime)
        }
        return times.min()
    }

    /// The error if nothing has arrived for the idle limit or the total limit is over; otherwise nil.
    ///
    /// The time in libcurl's queue does not count, since it depends on other transfers. Waiting for this machine's disk
    /// does not count either.
    ///
    /// - Parameter isStopped: another transfer of the connection is paused.
    func timeout(isStopped: Bool, at now: ContinuousClock.Instant) -> FetchError? {
        guard curl != nil, !isPaused, let start = handler.startedAt else { return nil }
        if start + request.timeLeft + handler.pausedTime <= now {
            return FetchError(
                .timedOut, "\(request.url): not done within the total limit of \(request.limits.total)",
                localCause: .network)
        }
        let idle = request.limits.idle
        let isIdle = !handler.isQueued && !(isStopped && handler.sharesConnection)
        guard isIdle, handler.lastActivity + idle <= now else { return nil }
        return FetchError(.timedOut, "\(request.url): silent for the idle limit of \(idle)", localCause: .network)
    }

    /// Ends all subscribers with curl's result or with `error`, each once its file is written. The handle must already
    /// be removed from the multi handle.
    ///
    /// - Returns: the outcome for the origin.
    func end(_ code: CURLcode, _ error: FetchError? = nil, at now: ContinuousClock.Instant) -> RequestOutcome {
        if let error { handler.fail(error) }
        let result = curl.map { $0.end(code) } ?? .failure(handler.failure ?? Self.noMemory(request.url))
        var outcome: RequestOutcome?
        let start = handler.startedAt ?? started ?? now
        for subscriber in subscribers {
            subscriber.observesWait?(.connection, max(.zero, start - subscriber.since))
            let own = subscriber.sink.failure.map { Result<FetchResponse, FetchError>.failure($0) }
            let final = own ?? result.map { complete($0, for: subscriber, at: now) }
            outcome = outcome ?? RequestOutcome(final)
            let continuation = subscriber.continuation
            subscriber.sink.close { continuation.resume(returning: $0.map { .failure($0) } ?? final) }
        }
        subscribers = []
        release()
        return outcome ?? .unknown
    }

    /// Detaches the handle: no sink receives anything more.
    func release() {
        curl?.reset()
        curl = nil
    }

    private func complete(
        _ response: FetchResponse, for subscriber: Subscriber, at now: ContinuousClock.Instant
    ) -> FetchResponse {
        var response = response
        let start = handler.startedAt ?? started ?? now
        response.resumptions = resumptions
        response.isShared = wasShared
        response.timings.queued = max(.zero, start - subscriber.since)
        response.timings.transfer = now - max(start, subscriber.since)
        return response
    }

    private static func noMemory(_ url: SourceURL) -> FetchError {
        FetchError(.localFault, "\(url): no memory for a transfer")
    }
}
