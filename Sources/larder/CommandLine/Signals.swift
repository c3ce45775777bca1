import Concurrency
import Dispatch
import Glibc
import Worker

/// Turns SIGTERM, SIGINT and SIGHUP into a shutdown request: the first finishes running jobs, the second cancels them.
enum Signals {
    /// The signals that end the program only after `release`.
    private static let delivered = Locked<[Int32]>([])

    /// Handles the signals, and a closed standard output, from its return on; until then they end the program.
    ///
    /// Dispatch installs its own handler on Linux, so the signals need not be ignored first. Child processes start with
    /// the default action.
    ///
    /// - Parameter hangUpStops: whether SIGHUP is one of the signals. One that is ignored, as below nohup, stays ignored.
    static func deliver(to stop: ShutdownRequest, hangUpStops: Bool = true) async {
        // Jobs are not left behind for a reader that ended.
        Console.onBrokenPipe.withLock { $0 = { stop.request(.finish) } }
        let queue = DispatchQueue(label: "signals")
        let numbers = [SIGTERM, SIGINT] + (hangUpStops && !ignoresHangUp ? [SIGHUP] : [])
        delivered.withLock { $0 = numbers }
        for number in numbers {
            await withCheckedContinuation { continuation in
                let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
                source.setEventHandler {
                    // The handler keeps its source alive until the end of the program.
                    _ = source
                    let isFirst = stop.urgency == .none
                    stop.request(isFirst ? .finish : .cancel)
                    // A person waits at a terminal.
                    guard Console.isTerminal(STDERR_FILENO) else { return }
                    Console.note(
                        isFirst
                            ? "\nlarder: stopping; what runs is finished, a second Ctrl-C ends it at once"
                            : "\nlarder: ending at once; what ran is done again by the next worker")
                }
                source.setRegistrationHandler { continuation.resume() }
                source.activate()
            }
        }
    }

    /// Calls `body` on a thread of its own at each SIGHUP, which no longer ends the program.
    static func onHangUp(_ body: @escaping @Sendable () -> Void) {
        let source = DispatchSource.makeSignalSource(signal: SIGHUP, queue: DispatchQueue(label: "hang-up"))
        source.setEventHandler {
            _ = source
            body()
        }
        source.activate()
    }

    private static var ignoresHangUp: Bool {
        var action = sigaction()
        guard sigaction(SIGHUP, nil, &action) == 0 else { return false }
        // Function pointers, which Swift does not compare.
        let handler = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        return handler == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Lets the signals end the program at once, for when no job is held any more.
    static func release() { for number in delivered.withLock({ $0 }) { signal(number, SIG_DFL) } }
}
