import CommandLine
import Worker

extension Signals {
    /// Makes signals, and a closed standard output, requests to end; until its return they end the program.
    ///
    /// - Parameter hangUpStops: whether SIGHUP is one of the signals.
    static func deliver(to stop: ShutdownRequest, hangUpStops: Bool = true) async {
        await deliver(hangUpStops: hangUpStops, onUnread: { stop.request(.finish) }, onSignal: stop.requestNext)
    }
}
