import Dispatch
import Synchronization

/// The requests of a server that are not answered yet.
package final class OpenRequests: Sendable {
    private let group = DispatchGroup()
    private let closing = Atomic(false)

    /// Whether the server ends: new requests are refused, streams end.
    package var isClosing: Bool { closing.load(ordering: .relaxed) }

    package func enter() { group.enter() }
    package func leave() { group.leave() }

    /// Refuses new requests and waits until those that are open are answered. Blocks.
    package func close() {
        closing.store(true, ordering: .relaxed)
        group.wait()
    }
}
