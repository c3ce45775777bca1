import Glibc

/// One connection through a `FaultProxy`: two sockets, and at most 64 KiB in transit in each direction.
final class ForwardedConnection {
    private struct Direction {
        var bytes: [UInt8] = []
        var offset = 0
        /// When the bytes may be forwarded; nil without bytes.
        var due: ContinuousClock.Instant?
    }

    private let client: Int32
    private let server: Int32
    private var up = Direction()
    private var down = Direction()
    private(set) var hasEnded = false
    /// A side that ended while the connection was half-open: the other side does not learn of it.
    private var clientEnded = false
    private var serverEnded = false

    init(client: Int32, server: Int32) {
        self.client = client
        self.server = server
    }

    deinit {
        close(client)
        close(server)
    }

    /// When delayed bytes may be forwarded; nil if none wait.
    var due: ContinuousClock.Instant? {
        let now = ContinuousClock.now
        return [up.due, down.due].compactMap(\.self).filter { $0 > now }.min()
    }

    /// The poll events of the client's and the server's socket.
    func interest(_ now: ContinuousClock.Instant, isMuted: Bool) -> [pollfd] {
        func events(_ reading: Direction, _ writing: Direction) -> Int16 {
            var events: Int32 = 0
            if isMuted || reading.bytes.isEmpty { events |= POLLIN }
            if !isMuted, let due = writing.due, due <= now { events |= POLLOUT }
            return Int16(events)
        }
        let sides = [(client, events(up, down), clientEnded), (server, events(down, up), serverEnded)]
        // A socket without interest would report its end at every poll.
        return sides.map { pollfd(fd: $1 == 0 || $2 ? -1 : $0, events: $1, revents: 0) }
    }

    func handle(_ events: (client: Int16, server: Int16), isMuted: Bool, delay: Duration) {
        if isMuted {
            swallow(events)
            return
        }
        let readable = Int16(POLLIN | POLLHUP | POLLERR)
        if events.client & readable != 0, up.bytes.isEmpty { Self.read(client, into: &up, delay, &hasEnded) }
        if events.server & readable != 0, down.bytes.isEmpty { Self.read(server, into: &down, delay, &hasEnded) }
        Self.write(&down, to: client, &hasEnded)
        Self.write(&up, to: server, &hasEnded)
    }

    /// Reads and drops incoming bytes.
    private func swallow(_ events: (client: Int16, server: Int16)) {
        (up, down) = (Direction(), Direction())
        var dropped = Direction()
        if events.client != 0 { Self.read(client, into: &dropped, .zero, &clientEnded) }
        if events.server != 0 { Self.read(server, into: &dropped, .zero, &serverEnded) }
    }

    private static func read(_ source: Int32, into direction: inout Direction, _ delay: Duration, _ ended: inout Bool) {
        direction.bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
            let got = recv(source, buffer.baseAddress, buffer.count, 0)
            count = max(0, got)
            if got == 0 || got < 0 && errno != EAGAIN && errno != EINTR { ended = true }
        }
        direction.offset = 0
        direction.due = direction.bytes.isEmpty ? nil : ContinuousClock.now + delay
    }

    private static func write(_ direction: inout Direction, to sink: Int32, _ ended: inout Bool) {
        guard let due = direction.due, due <= ContinuousClock.now else { return }
        let rest = direction.bytes[direction.offset...]
        let sent = rest.withUnsafeBytes { send(sink, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if sent < 0 {
            if errno != EAGAIN && errno != EINTR && errno != ENOTCONN { ended = true }
            return
        }
        direction.offset += sent
        if direction.offset == direction.bytes.count { direction = Direction() }
    }
}
