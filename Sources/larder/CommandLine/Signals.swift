import Foundation
import Glibc
import Prefetcher

/// Turns SIGTERM and SIGINT into a stop: the first asks to finish, the second to give up what runs.
enum Signals {
    /// Where the handler writes.
    private nonisolated(unsafe) static var pipeEnd: Int32 = -1  // protected by: set once, before the handler is there

    /// Handles the signals from now on, on a thread of its own.
    ///
    /// A handler and a pipe, not a blocked signal and `sigwait`: by now there are threads that block nothing, the main
    /// one among them, and the kernel gives the signal to any of them. Child processes start with the default again.
    static func deliver(to stop: StopSignal) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let readEnd = ends[0]
        pipeEnd = ends[1]
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in
            // Only what a handler may do: one system call, and errno as it was.
            let code = errno
            var byte: UInt8 = 0
            _ = write(Signals.pipeEnd, &byte, 1)
            errno = code
        }
        action.sa_flags = SA_RESTART
        for signal in [SIGTERM, SIGINT] { sigaction(signal, &action, nil) }
        Thread.detachNewThread {
            var byte: UInt8 = 0
            while true {
                let count = read(readEnd, &byte, 1)
                if count == 1 { stop.ask(stop.urgency == .none ? .finish : .cancel) }
                if count == 0 || (count < 0 && errno != EINTR) { return }
            }
        }
    }
}
