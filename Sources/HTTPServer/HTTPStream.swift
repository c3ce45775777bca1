import CMicroHTTPD
import Concurrency
import Dispatch
import Synchronization

/// An answer sent in pieces. Dropping it ends the answer.
package final class HTTPStream: Sendable {
    /// The address of the library's stream until it ends.
    private let stream: Locked<UInt>
    private let requests: OpenRequests

    /// - Parameter requests: counts it until its end.
    package init(_ stream: OpaquePointer, of requests: OpenRequests) {
        self.stream = Locked(UInt(bitPattern: stream))
        self.requests = requests
    }

    deinit { end() }

    /// Sends bytes without waiting. False if the client has gone or does not read, or the server is stopping.
    package func send(_ bytes: [UInt8]) -> Bool {
        guard !requests.isClosing else { return false }
        return stream.withLock { address in
            OpaquePointer(bitPattern: address).map { larder_http_push($0, bytes, bytes.count) } ?? false
        }
    }

    package func end() {
        let address = stream.withLock { address in
            defer { address = 0 }
            return address
        }
        guard let stream = OpaquePointer(bitPattern: address) else { return }
        larder_http_end_stream(stream)
        requests.leave()
    }
}

package final class OpenRequests: Sendable {
    private let group = DispatchGroup()
    private let closing = Atomic(false)

    /// Whether the server is stopping: new requests are refused, streams end.
    package var isClosing: Bool { closing.load(ordering: .relaxed) }

    package func enter() { group.enter() }
    package func leave() { group.leave() }

    /// Refuses new requests and waits until the open ones are answered. Blocks.
    package func close() {
        closing.store(true, ordering: .relaxed)
        group.wait()
    }
}
