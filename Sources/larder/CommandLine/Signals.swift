import Foundation
import Glibc
import Prefetcher

/// Turns SIGTERM and SIGINT into a stop: the first asks to finish, the second to give up what runs.
enum Signals {
    /// Blocks the signals for the whole process and waits for them on a thread of its own.
    ///
    /// Called before anything else starts a thread, so that no thread can take the signals the default way;
    /// child processes get a clean mask of their own.
    static func deliver(to stop: StopSignal) {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGINT)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let set = signals
        Thread.detachNewThread {
            var set = set
            while true {
                var signal: Int32 = 0
                guard sigwait(&set, &signal) == 0 else { continue }
                stop.ask(stop.urgency == .none ? .finish : .cancel)
            }
        }
    }
}
