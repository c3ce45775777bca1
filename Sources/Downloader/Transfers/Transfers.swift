internal import CCurl
internal import Concurrency

/// All transfers of a downloader, on one thread that sleeps in libcurl's poll.
///
/// Starts transfers in the order of `OriginLimits`, shares one between equal requests, and returns responses. The
/// downloader follows redirects and resolves names.
actor Transfers {
    private let configuration: FetchConfiguration
    private let origins: OriginLimiter
    private let loop: TransferLoop
    private let thread: EventLoop
    private let bodyThreads: BodyThreads
    /// By the first subscriber's ticket.
    private var transfers: [UInt64: SharedTransfer] = [:]
    private var subscriptions: [UInt64: UInt64] = [:]
    /// Transfers that others may join, by URL.
    private var joinable: [String: [UInt64]] = [:]
    private var running: [UnsafeMutableRawPointer: UInt64] = [:]
    private var idle: [CurlTransfer] = []
    private(set) var schedule = TimeoutSchedule()
    private var isSuspended = false
    private var lastTicket: UInt64 = 0
    private var blocksBrokenPipes = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ configuration: FetchConfiguration, _ origins: OriginLimiter) {
        self.configuration = configuration
        self.origins = origins
        // All connections would count for the proxy: only `OriginLimits` can limit them per origin.
        let widest = ([configuration.transfersPerOrigin] + configuration.hosts.values.compactMap(\.connections)).max()
        loop = TransferLoop(
            connections: configuration.transfers, perHost: configuration.proxy == nil ? widest ?? 0 : 0)
        thread = EventLoop(name: "larder-fetch", poller: loop)
        bodyThreads = BodyThreads(configuration) { [loop] in loop.wake() }
        loop.attach(self)
    }

    deinit { thread.stop() }

    /// Sends one request and writes the response body to `file`, which is not used after the return.
    ///
    /// - Throws: `FetchError`; `cancelled` if the task is cancelled, immediately unless a write to the file is under
    ///   way.
    func perform(_ request: HTTPRequest, into file: Int32) async throws(FetchError) -> FetchResponse {
        lastTicket += 1
        let ticket = lastTicket
        let result: Result<FetchResponse, FetchError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The flag is set before the handler runs, and this thread processes the handler's message later.
                if Task.isCancelled {
                    continuation.resume(returning: .failure(Self.cancelled(request.url)))
                } else {
                    subscribe(ticket, request, into: file, continuation)
                }
            }
        } onCancel: {
            loop.cancel(ticket)
        }
        return try result.get()
    }

    /// Waiting and running transfers; a shared one counts once.
    var count: Int { transfers.count }

    var subscriberCount: Int { subscriptions.count }

    func cancelAll() {
        for ticket in Array(subscriptions.keys) { cancel(ticket) }
    }

    /// While suspended no transfer starts; running ones continue.
    func suspend(_ suspends: Bool) {
        isSuspended = suspends
        startWaiting()
    }

    /// Runs what is due. Called by the loop on this actor's thread after each sleep.
    func turn(cancelled: [UInt64]) {
        if !blocksBrokenPipes {
            // With CURLOPT_NOSIGNAL libcurl leaves SIGPIPE to the program.
            blockBrokenPipes()
            blocksBrokenPipes = true
        }
        for ticket in cancelled { cancel(ticket) }
        loop.perform()
        while let (easy, code) = loop.nextEnded() {
            if let number = running[easy] { curlEnded(number, code) }
        }
        for ticket in loop.takeChangedWriters() { writerChanged(ticket) }
        checkTimeouts()
        startWaiting()
    }

    // MARK: - Subscriptions

    private func subscribe(
        _ ticket: UInt64, _ request: HTTPRequest, into file: Int32, _ continuation: SharedTransfer.Continuation
    ) {
        let now = ContinuousClock.now
        let writer = BodyWriter(file, request.url, bodyThreads) { [loop] in loop.writerChanged(ticket) }
        schedule.note(request.fetch.deadline)
        for number in joinable[request.url.requestText] ?? [] {
            guard let transfer = transfers[number], transfer.request.canServe(request),
                transfer.subscribe(ticket, request.fetch, into: writer, continuation, at: now)
            else { continue }
            subscriptions[ticket] = number
            return
        }
        let transfer = SharedTransfer(request, at: now)
        _ = transfer.subscribe(ticket, request.fetch, into: writer, continuation, at: now)
        transfers[ticket] = transfer
        subscriptions[ticket] = ticket
        if request.fetch.mayShare { joinable[request.url.requestText, default: []].append(ticket) }
        let refusal = origins.limits.withLock {
            $0.enqueue(ticket, request.url.origin, request.fetch.priority, at: now)
        }
        if let refusal { return refuse(ticket, refusal) }
        startWaiting()
    }

    private func cancel(_ ticket: UInt64) {
        guard let url = subscriptions[ticket].flatMap({ transfers[$0] })?.request.url else { return }
        unsubscribe(ticket, Self.cancelled(url))
    }

    private func unsubscribe(_ ticket: UInt64, _ error: FetchError) {
        guard let number = subscriptions.removeValue(forKey: ticket), let transfer = transfers[number] else { return }
        transfer.unsubscribe(ticket, error)
        guard transfer.isEmpty else { return adjust(number, transfer) }
        remove(number, transfer) { transfer in
            transfer.release()
            return RequestOutcome(error)
        }
    }

    private func writerChanged(_ ticket: UInt64) {
        guard let number = subscriptions[ticket], let transfer = transfers[number] else { return }
        transfer.writerChanged(ticket)
        adjust(number, transfer)
    }

    // MARK: - Transfers

    /// Pauses or continues a transfer by the room in its files; ends it if no file can be written.
    private func adjust(_ number: UInt64, _ transfer: SharedTransfer) {
        let now = ContinuousClock.now
        if transfer.isReceived {
            if transfer.adjustPause(at: now) {
                for other in transfers.values where other.request.url.origin == transfer.request.url.origin {
                    other.continuesWithConnection(at: now)
                }
            }
            schedule.note(transfer.due(at: now))
        } else {
            remove(number, transfer) { $0.end(CURLE_WRITE_ERROR, at: now) }
        }
    }

    /// Starts or refuses waiting transfers as the limits allow.
    private func startWaiting() {
        while !isSuspended, bodyThreads.hasRoom {
            let now = ContinuousClock.now
            switch origins.limits.withLock({ $0.next(at: now) }) {
            case .start(let number, let permit):
                if permit.isProbe { origins.changed.signal() }
                start(number, permit, at: now)
            case .refuse(let number, let refusal): refuse(number, refusal)
            case .wait(let until): return schedule.note(until)
            }
        }
    }

    private func start(_ number: UInt64, _ permit: OriginPermit, at now: ContinuousClock.Instant) {
        guard let transfer = transfers[number], let curl = idle.popLast() ?? CurlTransfer(configuration) else {
            if let transfer = transfers[number] { remove(number, transfer) { $0.end(CURLE_OUT_OF_MEMORY, at: now) } }
            return endPermit(permit, .unknown, at: now)
        }
        begin(number, transfer, on: curl, permit, http2: permit.allowsHTTP2, at: now)
    }

    private func refuse(_ number: UInt64, _ refusal: OriginRefusal) {
        guard let transfer = transfers[number] else { return }
        let error = refusal.error(transfer.request.url, origins.settings)
        remove(number, transfer) { $0.end(CURLE_OK, error, at: .now) }
    }

    private func begin(
        _ number: UInt64, _ transfer: SharedTransfer, on curl: CurlTransfer, _ permit: OriginPermit, http2: Bool,
        at now: ContinuousClock.Instant
    ) {
        transfer.begin(on: curl, permit, http2: http2, at: now)
        schedule.note(transfer.due(at: now))
        running[curl.easy.pointer] = number
        if !loop.add(curl.easy) { remove(number, transfer) { $0.end(CURLE_FAILED_INIT, at: now) } }
    }

    /// libcurl has ended a try: with a result, a broken body to continue, or another try over HTTP/1.1.
    private func curlEnded(_ number: UInt64, _ code: CURLcode) {
        guard let transfer = transfers[number], let curl = transfer.curl, let permit = transfer.permit else { return }
        let now = ContinuousClock.now
        let fallsBack = noteHTTP2(transfer, curl, permit, code, at: now)
        if code != CURLE_OK && (transfer.resume(after: code, at: now) || fallsBack && transfer.restart(at: now)) {
            loop.remove(curl.easy)
            running[curl.easy.pointer] = nil
            begin(number, transfer, on: curl, permit, http2: transfer.usesHTTP2 && !fallsBack, at: now)
        } else {
            remove(number, transfer) { $0.end(code, at: now) }
        }
    }

    /// Records how HTTP/2 works with an origin; true if it has now failed too often.
    private func noteHTTP2(
        _ transfer: SharedTransfer, _ curl: CurlTransfer, _ permit: OriginPermit, _ code: CURLcode,
        at now: ContinuousClock.Instant
    ) -> Bool {
        guard transfer.usesHTTP2, let began = transfer.began else { return false }
        let isMultiplexed = curl.isMultiplexed
        if code == CURLE_OK && isMultiplexed { origins.limits.withLock { $0.http2Succeeded(permit, began: began) } }
        guard HTTP2Fallback.isFault(code, isMultiplexed: isMultiplexed, hasHead: transfer.hasHead) else { return false }
        return origins.limits.withLock { $0.http2Failed(permit, began: began, at: now) }
    }

    /// Ends requests past their deadline and transfers over the idle or total limit.
    private func checkTimeouts() {
        let now = ContinuousClock.now
        guard schedule.isDue(at: now) else { return }
        let stopped = Set(transfers.values.filter(\.stopsConnection).map(\.request.url.origin))
        for (number, transfer) in transfers {
            let url = transfer.request.url
            for ticket in transfer.late(at: now) {
                unsubscribe(ticket, FetchError(.timedOut, "\(url): not done at its deadline"))
            }
            if let error = transfer.timeout(isStopped: stopped.contains(transfer.request.url.origin), at: now) {
                remove(number, transfer) { $0.end(CURLE_OPERATION_TIMEDOUT, error, at: now) }
            }
            if transfers[number] != nil { schedule.note(transfer.due(at: now)) }
        }
    }

    /// Removes a transfer from libcurl, then ends it, so that no callback runs in between or later.
    private func remove(_ number: UInt64, _ transfer: SharedTransfer, _ end: (SharedTransfer) -> RequestOutcome) {
        transfers[number] = nil
        for ticket in transfer.tickets { subscriptions[ticket] = nil }
        let text = transfer.request.url.requestText
        joinable[text]?.removeAll { $0 == number }
        if joinable[text]?.isEmpty == true { joinable[text] = nil }
        guard let curl = transfer.curl, let permit = transfer.permit else {
            _ = origins.limits.withLock { $0.remove(number, transfer.request.url.origin) }
            _ = end(transfer)
            return
        }
        loop.remove(curl.easy)
        running[curl.easy.pointer] = nil
        let isPaused = transfer.isPaused
        endPermit(permit, end(transfer), at: .now)
        // libcurl may keep a handle's pause.
        if transfer.request.leavesHandleClean, !isPaused { idle.append(curl) }
    }

    private func endPermit(_ permit: OriginPermit, _ outcome: RequestOutcome, at now: ContinuousClock.Instant) {
        if origins.limits.withLock({ $0.end(permit, outcome, at: now) }) { origins.changed.signal() }
    }

    private static func cancelled(_ url: SourceURL) -> FetchError { FetchError(.cancelled, "\(url): cancelled") }
}

/// When to check the timeouts that libcurl does not check.
///
/// A check records the new time of a timeout that has moved, so each timeout causes at most one check.
struct TimeoutSchedule {
    private static let maximumSleep = Duration.seconds(60)

    private var next: ContinuousClock.Instant?

    /// A check is needed at this time.
    mutating func note(_ time: ContinuousClock.Instant?) {
        guard let time else { return }
        next = next.map { min($0, time) } ?? time
    }

    /// Whether a check is due. If so, all times are removed and must be recorded again.
    mutating func isDue(at now: ContinuousClock.Instant) -> Bool {
        guard let next, next <= now else { return false }
        self.next = nil
        return true
    }

    /// Milliseconds to the next check, rounded up, at most 60,000.
    func sleep(from now: ContinuousClock.Instant) -> Int32 {
        let rest = min(max(.zero, (next ?? now + Self.maximumSleep) - now), Self.maximumSleep)
        let (seconds, attoseconds) = rest.components
        return Int32(seconds) * 1000 + Int32((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
