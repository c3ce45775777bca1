import Concurrency
import Glibc

/// A run's origin: an HTTP/1.1 server on loopback that answers `/NUMBER.png` with that image. All images change every 5
/// s, so that a URL requested again is transcoded again.
final class ChaosOrigin: Sendable {
    let place: SocketPlace
    private let isStopped = Locked(false)
    private let thread = ThreadPool(name: "chaos-origin", threads: 1)

    init() throws {
        let (listener, place) = try SocketPlace.port(host: "127.0.0.1", number: 0).listen()
        self.place = place
        thread.submit { [isStopped] in
            var loop = Loop(listener: listener)
            while !isStopped.withLock({ $0 }) { loop.turn() }
        }
    }

    deinit { stop() }

    func stop() { isStopped.withLock { $0 = true } }

    private final class Client {
        let descriptor: Int32
        var input: [UInt8] = []
        var output: [UInt8] = []
        var hasEnded = false

        init(_ descriptor: Int32) { self.descriptor = descriptor }
        deinit { close(descriptor) }
    }

    private struct Loop: ~Copyable {
        private let listener: Int32
        private var clients: [Client] = []
        private let start = ContinuousClock.now

        init(listener: Int32) { self.listener = listener }
        deinit { close(listener) }

        mutating func turn() {
            var descriptors = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
            for client in clients {
                let events = client.output.isEmpty ? POLLIN : POLLOUT
                descriptors.append(pollfd(fd: client.descriptor, events: Int16(events), revents: 0))
            }
            guard poll(&descriptors, nfds_t(descriptors.count), 100) > 0 else { return }
            for (index, client) in clients.enumerated() where descriptors[index + 1].revents != 0 { serve(client) }
            clients.removeAll { $0.hasEnded }
            guard descriptors[0].revents != 0 else { return }
            if let client = SocketPlace.accept(listener) { clients.append(Client(client)) }
        }

        private func serve(_ client: Client) {
            if client.output.isEmpty {
                var room = [UInt8](repeating: 0, count: 16_384)
                let got = recv(client.descriptor, &room, room.count, 0)
                if got == 0 || got < 0 && errno != EAGAIN && errno != EINTR { client.hasEnded = true }
                client.input += room.prefix(max(0, got))
                if client.input.count > 65_536 { client.hasEnded = true }
                guard let end = client.input.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
                client.output = answer(client.input[..<end.lowerBound])
                client.input.removeFirst(end.upperBound)
            }
            let sent = client.output.withUnsafeBytes {
                send(client.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if sent >= 0 {
                client.output.removeFirst(sent)
            } else if errno != EAGAIN && errno != EINTR {
                client.hasEnded = true
            }
        }

        private func answer(_ head: ArraySlice<UInt8>) -> [UInt8] {
            // GET /12.png HTTP/1.1
            let target = String(decoding: head, as: UTF8.self).split(separator: " ").dropFirst().first ?? ""
            let name = target.split(separator: "/").last ?? ""
            guard let number = Int(name.split(separator: ".").first ?? "") else {
                return Array("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".utf8)
            }
            let edition = UInt32((ContinuousClock.now - start).seconds / 5)
            let body = ChaosImage.bytes(number, edition: edition)
            let lines = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: \(body.count)\r\n\r\n"
            return Array(lines.utf8) + body
        }
    }
}
