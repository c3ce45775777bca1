internal import CCurl
internal import Concurrency
private import Glibc

/// All transfers of a downloader, on one thread of their own that sleeps in libcurl's poll.
///
/// The actor starts transfers, lets equal ones share, and hands their results back; it knows nothing of redirects, names
/// or retries.
actor Transfers {
    private let configuration: FetchConfiguration
    private let loop: TransferLoop
    private let thread: EventLoop
    private var queue: TransferQueue
    /// By the ticket of the one who asked first.
    private var flights: [UInt64: SharedTransfer] = [:]
    /// The flight of everybody who waits.
    private var boarded: [UInt64: UInt64] = [:]
    /// Flights that others may join, by what goes on the request line.
    private var joinable: [String: [UInt64]] = [:]
    private var running: [UnsafeMutableRawPointer: UInt64] = [:]
    private var idle: [CurlTransfer] = []
    private var timetable = TimeoutSchedule()
    private var distrust = HTTP2Fallback()
    private var isSuspended = false
    private var nextTicket: UInt64 = 0
    private var blocksBrokenPipes = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ configuration: FetchConfiguration) {
        self.configuration = configuration
        loop = TransferLoop(connections: configuration.transfers, perHost: configuration.transfersPerOrigin)
        thread = EventLoop(name: "larder-fetch", poller: loop)
        queue = TransferQueue(
            total: configuration.transfers, perOrigin: configuration.transfersPerOrigin,
            streams: configuration.streamsPerOrigin, order: configuration.order)
        loop.drive(self)
    }

    deinit { thread.stop() }

    /// Makes one request and reads its answer. Cancellation ends it at once; when this returns, in whatever way, the
    /// recipient's descriptor is not touched any more.
    func exchange(
        _ exchange: HTTPRequest, for recipient: BodySink, deadline: ContinuousClock.Instant? = nil
    ) async throws(FetchError) -> Reply {
        nextTicket += 1
        let ticket = nextTicket
        let result: Result<Reply, FetchError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The flag is set before the handler runs, and the handler's word is heard on this thread, later.
                if Task.isCancelled {
                    continuation.resume(returning: .failure(Self.cancelled(exchange.url)))
                    return
                }
                board(ticket, exchange, recipient, continuation, deadline)
            }
        } onCancel: {
            loop.cancel(ticket)
        }
        return try result.get()
    }

    /// Transfers that wait or run; equal ones that share count once.
    var count: Int { flights.count }

    /// Who waits for one of them.
    var waiterCount: Int { boarded.count }

    /// Ends all transfers, waiting and running, as cancelled.
    func cancelAll() {
        for ticket in Array(boarded.keys) {
            if let flight = boarded[ticket].flatMap({ flights[$0] }) {
                leave(ticket, Self.cancelled(flight.exchange.url))
            }
        }
    }

    /// While suspended no transfer starts; those that run go on.
    func suspend(_ suspends: Bool) {
        isSuspended = suspends
        startWaiting()
    }

    /// How long the loop may sleep, in milliseconds.
    var sleep: Int32 { timetable.sleep(from: .now) }

    /// What is due: called by the loop on this actor's thread whenever its sleep has ended.
    func turn(cancelled: [UInt64]) {
        blockBrokenPipes()
        for ticket in cancelled {
            if let flight = boarded[ticket].flatMap({ flights[$0] }) {
                leave(ticket, Self.cancelled(flight.exchange.url))
            }
        }
        loop.multi.perform()
        while let (easy, code) = loop.multi.nextEnded() {
            if let ticket = running[easy] { transferEnded(ticket, code) }
        }
        look()
        startWaiting()
    }

    // MARK: - Boarding and leaving

    private func board(
        _ ticket: UInt64, _ exchange: HTTPRequest, _ recipient: BodySink, _ continuation: SharedTransfer.Continuation,
        _ deadline: ContinuousClock.Instant?
    ) {
        let now = ContinuousClock.now
        timetable.note(deadline)
        for other in joinable[exchange.url.requestText] ?? [] {
            guard let flight = flights[other], flight.exchange.canServe(exchange) else { continue }
            if flight.board(ticket, recipient, continuation, deadline: deadline, at: now) {
                boarded[ticket] = other
                return
            }
        }
        let flight = SharedTransfer(exchange, at: now)
        _ = flight.board(ticket, recipient, continuation, deadline: deadline, at: now)
        flights[ticket] = flight
        boarded[ticket] = ticket
        if exchange.mayShare { joinable[exchange.url.requestText, default: []].append(ticket) }
        queue.ask(ticket, exchange.url.origin, exchange.priority)
        startWaiting()
    }

    private func leave(_ ticket: UInt64, _ error: FetchError) {
        guard let number = boarded.removeValue(forKey: ticket), let flight = flights[number] else { return }
        flight.leave(ticket, error)
        guard flight.isDeserted else { return }
        if flight.slot == nil { _ = queue.leave(number) }
        remove(number, flight) { $0.leaveSlot() }
    }

    // MARK: - Running

    private func startWaiting() {
        while !isSuspended, let ticket = queue.next() {
            guard let flight = flights[ticket] else { continue }
            let now = ContinuousClock.now
            guard let slot = idle.popLast() ?? CurlTransfer(configuration) else {
                queue.finish(flight.exchange.url.origin, multiplexed: false)
                remove(ticket, flight) { $0.end(CURLE_OUT_OF_MEMORY, at: now) }
                continue
            }
            begin(ticket, flight, on: slot, at: now)
        }
    }

    private func begin(
        _ ticket: UInt64, _ flight: SharedTransfer, on slot: CurlTransfer, at now: ContinuousClock.Instant
    ) {
        let origin = flight.exchange.url.origin
        let version: HTTPVersion = distrust.avoids(origin, at: now) ? .one : .two
        flight.begin(on: slot, version, at: now)
        timetable.note(flight.due)
        running[slot.easy.pointer] = ticket
        if !loop.multi.add(slot.easy) { remove(ticket, flight) { $0.end(CURLE_FAILED_INIT, at: now) } }
    }

    /// libcurl is done with it: the end, a broken body that can go on, or another try over HTTP/1.1.
    private func transferEnded(_ ticket: UInt64, _ code: CURLcode) {
        guard let flight = flights[ticket], let slot = flight.slot else { return }
        let now = ContinuousClock.now
        let goesBack = goesBack(flight, code, isMultiplexed: slot.isMultiplexed, at: now)
        if code != CURLE_OK && (flight.resume(after: code, at: now) || goesBack && flight.restart(at: now)) {
            loop.multi.remove(slot.easy)
            running[slot.easy.pointer] = nil
            begin(ticket, flight, on: slot, at: now)
        } else {
            remove(ticket, flight) { $0.end(code, at: now) }
        }
    }

    /// Keeps account of how HTTP/2 does with an origin; whether it is given up there, so that what it broke may begin
    /// again over HTTP/1.1.
    private func goesBack(
        _ flight: SharedTransfer, _ code: CURLcode, isMultiplexed: Bool, at now: ContinuousClock.Instant
    ) -> Bool {
        let origin = flight.exchange.url.origin
        guard let began = flight.began, flight.version == .two, origin.scheme == .https else { return false }
        if code == CURLE_OK && isMultiplexed { distrust.worked(origin, began: began) }
        let hasHead = flight.reception.verdict != nil
        guard HTTP2Fallback.isFault(code, isMultiplexed: isMultiplexed, hasHead: hasHead) else { return false }
        distrust.broke(origin, began: began, at: now)
        guard distrust.avoids(origin, at: now) else { return false }
        queue.forgetStreams(origin)
        return true
    }

    /// Ends what has been silent, or has waited, for too long.
    private func look() {
        let now = ContinuousClock.now
        guard timetable.isDue(at: now) else { return }
        for (number, flight) in flights {
            let url = flight.exchange.url
            for ticket in flight.late(at: now) {
                leave(ticket, FetchError(.timedOut, "\(url): not done when its deadline came"))
            }
            if flight.isIdle(at: now) {
                let limit = flight.exchange.limits.idle
                flight.reception.give(up: FetchError(.timedOut, "\(url): silent for the idle limit of \(limit)"))
                remove(number, flight) { $0.end(CURLE_OPERATION_TIMEDOUT, at: now) }
            }
            if flights[number] != nil { timetable.note(flight.due) }
        }
    }

    /// Forgets a flight. Takes its transfer out of libcurl first and ends it then: no callback can run in between or
    /// later.
    private func remove(_ number: UInt64, _ flight: SharedTransfer, _ end: (SharedTransfer) -> Void) {
        flights[number] = nil
        for ticket in flight.tickets { boarded[ticket] = nil }
        let text = flight.exchange.url.requestText
        joinable[text]?.removeAll { $0 == number }
        if joinable[text]?.isEmpty == true { joinable[text] = nil }
        guard let slot = flight.slot else { return end(flight) }
        loop.multi.remove(slot.easy)
        running[slot.easy.pointer] = nil
        queue.finish(flight.exchange.url.origin, multiplexed: slot.isMultiplexed)
        end(flight)
        if flight.exchange.leavesNoTrace { idle.append(slot) }
    }

    private static func cancelled(_ url: SourceURL) -> FetchError { FetchError(.cancelled, "\(url): cancelled") }

    /// With CURLOPT_NOSIGNAL, a write to a connection the peer has closed raises SIGPIPE, which would end the process.
    private func blockBrokenPipes() {
        if blocksBrokenPipes { return }
        blocksBrokenPipes = true
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }
}
