import Concurrency
import Dispatch
import Glibc
import Terminal

/// Turns SIGTERM, SIGINT and SIGHUP into requests to end: the first finishes running work, the second cancels it.
package enum Signals {
    /// The signals that end the program only after `release`.
    private static let delivered = Locked<[Int32]>([])

    /// Handles the signals, and a closed standard output, from its return on; before, they end the program.
    ///
    /// Dispatch installs its own handler on Linux, so the signals need not be ignored first. Child processes start with
    /// the default action.
    ///
    /// - Parameters:
    ///   - hangUpStops: whether SIGHUP is one of the signals. An ignored one, as under nohup, stays ignored.
    ///   - onUnread: called if the reader of standard output has ended.
    ///   - onSignal: called for each signal; returns whether it is the first request to end.
    package static func deliver(
        hangUpStops: Bool = true, onUnread: @escaping @Sendable () -> Void,
        onSignal: @escaping @Sendable () -> Bool
    ) async {
        Console.onBrokenPipe.withLock { $0 = onUnread }
        let queue = DispatchQueue(label: "signals")
        let numbers = [SIGTERM, SIGINT] + (hangUpStops && !ignoresHangUp ? [SIGHUP] : [])
        delivered.withLock { $0 = numbers }
        for number in numbers {
            await withCheckedContinuation { continuation in
                let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
                source.setEventHandler {
                    // The handler keeps its source alive until the program's end.
                    _ = source
                    let isFirst = onSignal()
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

    /// Calls `body` on a separate thread at each SIGHUP, which no longer ends the program.
    package static func onHangUp(_ body: @escaping @Sendable () -> Void) {
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
        // Swift cannot compare function pointers.
        let handler = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        return handler == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Lets the signals end the program immediately, once no job is held.
    package static func release() { for number in delivered.withLock({ $0 }) { signal(number, SIG_DFL) } }
}
