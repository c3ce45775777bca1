import Dispatch
import Glibc
import Worker

/// Turns SIGTERM and SIGINT into a shutdown request: the first finishes running jobs, the second cancels them.
enum Signals {
    private static let numbers = [SIGTERM, SIGINT]

    /// Handles the signals from its return on; until then they end the program.
    ///
    /// Dispatch installs its own handler on Linux, so the signals need not be ignored first. Child processes start with
    /// the default action.
    static func deliver(to stop: ShutdownRequest) async {
        let queue = DispatchQueue(label: "signals")
        for number in numbers {
            await withCheckedContinuation { continuation in
                let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
                source.setEventHandler {
                    // The handler keeps its source alive until the end of the program.
                    _ = source
                    stop.request(stop.urgency == .none ? .finish : .cancel)
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

    /// Lets the signals end the program at once, for when no job is held any more.
    static func release() { for number in numbers { signal(number, SIG_DFL) } }
}
