internal import CCurl
internal import Executors
private import Glibc

/// All transfers of a downloader, on one thread of their own that sleeps in libcurl's poll.
///
/// The actor starts transfers and hands their results back; it knows nothing of redirects, names or retries.
actor Transfers {
    private typealias Continuation = CheckedContinuation<Result<Reply, FetchError>, Never>

    private struct Waiting {
        let exchange: Exchange
        let continuation: Continuation
        let since: ContinuousClock.Instant
    }

    private struct Active {
        let slot: TransferSlot
        let origin: Origin
        let continuation: Continuation
        let queued: Duration
    }

    private let configuration: FetchConfiguration
    private let loop: TransferLoop
    private let thread: DedicatedThread
    private var queue: TransferQueue
    private var waiting: [UInt64: Waiting] = [:]
    private var active: [UInt64: Active] = [:]
    private var tickets: [UnsafeMutableRawPointer: UInt64] = [:]
    private var idle: [TransferSlot] = []
    private var nextTicket: UInt64 = 0
    private var blocksBrokenPipes = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ configuration: FetchConfiguration) {
        self.configuration = configuration
        loop = TransferLoop(connections: configuration.transfers, perHost: configuration.transfersPerOrigin)
        thread = DedicatedThread(name: "larder-fetch", parking: loop)
        queue = TransferQueue(
            total: configuration.transfers, perOrigin: configuration.transfersPerOrigin,
            streams: configuration.streamsPerOrigin)
        loop.drive(self)
    }

    deinit { thread.stop() }

    /// Makes one request and reads its answer. Cancellation ends it at once; when this returns, in whatever way, the
    /// descriptor is not touched any more.
    func exchange(_ exchange: Exchange) async throws(FetchError) -> Reply {
        nextTicket += 1
        let ticket = nextTicket
        let result: Result<Reply, FetchError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The flag is set before the handler runs, and the handler's word is heard on this thread, later.
                if Task.isCancelled {
                    continuation.resume(returning: .failure(Self.cancelled(exchange.url)))
                    return
                }
                waiting[ticket] = Waiting(exchange: exchange, continuation: continuation, since: .now)
                queue.ask(ticket, exchange.url.origin)
                startWaiting()
            }
        } onCancel: {
            loop.cancel(ticket)
        }
        return try result.get()
    }

    /// What is due: called by the loop on this actor's thread whenever its sleep has ended.
    func turn(cancelled: [UInt64]) {
        blockBrokenPipes()
        for ticket in cancelled { cancel(ticket) }
        loop.multi.perform()
        while let (easy, code) = loop.multi.nextEnded() {
            if let ticket = tickets[easy] { end(ticket) { slot, queued in slot.end(code, queued: queued) } }
        }
        startWaiting()
    }

    private func startWaiting() {
        while let ticket = queue.next() {
            guard let next = waiting.removeValue(forKey: ticket) else { continue }
            let origin = next.exchange.url.origin
            guard let slot = idle.popLast() ?? TransferSlot(configuration) else {
                queue.finish(origin, multiplexed: false)
                next.continuation.resume(returning: .failure(FetchError(.transportFailed, "no memory for a transfer")))
                continue
            }
            slot.begin(next.exchange)
            active[ticket] = Active(
                slot: slot, origin: origin, continuation: next.continuation, queued: .now - next.since)
            tickets[slot.easy.pointer] = ticket
            if !loop.multi.add(slot.easy) {
                end(ticket) { slot, queued in slot.end(CURLE_FAILED_INIT, queued: queued) }
            }
        }
    }

    private func cancel(_ ticket: UInt64) {
        if let waiter = waiting.removeValue(forKey: ticket) {
            _ = queue.leave(ticket)
            waiter.continuation.resume(returning: .failure(Self.cancelled(waiter.exchange.url)))
        } else {
            end(ticket) { slot, _ in
                let url = slot.url
                slot.abandon()
                return .failure(Self.cancelled(url))
            }
        }
    }

    /// Takes a transfer out of libcurl first and reads its result then: no callback can run in between or later.
    private func end(_ ticket: UInt64, _ result: (TransferSlot, Duration) -> Result<Reply, FetchError>) {
        guard let ended = active.removeValue(forKey: ticket) else { return }
        tickets[ended.slot.easy.pointer] = nil
        loop.multi.remove(ended.slot.easy)
        queue.finish(ended.origin, multiplexed: ended.slot.isMultiplexed)
        // A handle remembers the user and password it once sent.
        let isClean = ended.slot.url?.hasUserinfo == false
        ended.continuation.resume(returning: result(ended.slot, ended.queued))
        if isClean { idle.append(ended.slot) }
    }

    private static func cancelled(_ url: SourceURL?) -> FetchError {
        FetchError(.cancelled, url.map { "\($0): cancelled" } ?? "cancelled")
    }

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
