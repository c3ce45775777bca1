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

    /// Longer than a client needs to read a few bytes.
    private static let patience = Duration.seconds(30)

    /// Sends bytes, and waits while the client has many to read. False when it has gone or reads none for 30 s, or the
    /// server ends.
    package func write(_ bytes: [UInt8]) async -> Bool {
        var rest = bytes[...]
        var deadline = ContinuousClock.now + Self.patience
        while !rest.isEmpty {
            let room = room
            guard room >= 0, deadline > .now else { return false }
            if room > 0 {
                guard send(Array(rest.prefix(room))) else { return false }
                rest = rest.dropFirst(room)
                deadline = .now + Self.patience
            } else {
                guard !requests.isClosing, (try? await Task.sleep(for: .milliseconds(5))) != nil else { return false }
            }
        }
        return true
    }

    /// The bytes that it takes now; negative when the client has gone.
    private var room: Int { stream.withLock { OpaquePointer(bitPattern: $0).map { larder_http_room($0) } ?? -1 } }

    /// Runs `work`. When the client has gone, the task of `work` is cancelled within a second.
    package func whileOpen(_ work: @escaping @Sendable () async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await work() }
            group.addTask { [self] in while (try? await Task.sleep(for: .seconds(1))) != nil, room >= 0 {} }
            _ = await group.next()
            group.cancelAll()
        }
    }

    /// Ends the answer.
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
