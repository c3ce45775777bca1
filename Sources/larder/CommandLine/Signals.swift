import Dispatch
import Glibc
import Prefetcher
import Worker

/// Turns SIGTERM and SIGINT into a stop: the first asks to finish, the second to give up what runs.
enum Signals {
    private static let numbers = [SIGTERM, SIGINT]

    /// Handles the signals once this has returned; before, they end the program as usual.
    ///
    /// Dispatch puts a handler of its own in place on Linux, so ignoring them here first would only lose one that comes
    /// before it is there. Child processes start with the default again.
    static func deliver(to stop: ShutdownRequest) async {
        let queue = DispatchQueue(label: "signals")
        for number in numbers {
            await withCheckedContinuation { continuation in
                let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
                source.setEventHandler {
                    // A source lives as long as its handler, which holds it: to the end of the program.
                    _ = source
                    stop.request(stop.urgency == .none ? .finish : .cancel)
                }
                source.setRegistrationHandler { continuation.resume() }
                source.activate()
            }
        }
    }

    /// From now on the signals end the program at once: nothing is held that would have to be given back.
    static func release() { for number in numbers { signal(number, SIG_DFL) } }
}
