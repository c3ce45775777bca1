import Concurrency
import Foundation
import Glibc

/// A scripted HTTP/1.1 server on loopback, one per test: it does exactly what its replies say, wrong things too.
///
/// It has an accepting thread and one thread per connection, and ends with its last reference.
package final class OriginServer: Sendable {
    private struct State: Sendable {
        var replies: [String: [OriginReply]] = [:]
        var requests: [OriginRequest] = []
        var connections: Set<Int32> = []
        var accepted = 0
        var maximumConnections = 0
        var gates: [OriginGate] = []
        var poured = 0
        var stopped = false
        var isListening = true
    }

    /// What the threads hold, so that the server itself can go and thereby stop them.
    private final class Core: Sendable {
        let listener: Int32
        let state = Locked(State())

        init(listener: Int32) { self.listener = listener }
    }

    private let core: Core
    /// The address it listens on.
    package let address: String
    /// The port it listens on, chosen by the system.
    package let port: UInt16

    /// Listens on `address`; unknown targets get 404.
    package init(_ replies: [String: OriginReply] = [:], address: String = "127.0.0.1") throws {
        let (listener, port) = try listeningSocket(address)
        core = Core(listener: listener)
        self.address = address
        self.port = port
        for (target, reply) in replies { on(target, reply) }
        let core = core
        Self.startThread { Self.accept(core) }
    }

    deinit {
        let gates = core.state.withLock { state in
            state.stopped = true
            for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
            // Under the lock, as is its closing: a number that is closed may belong to another file the next moment.
            if state.isListening { shutdown(core.listener, Int32(SHUT_RDWR)) }
            return state.gates
        }
        for gate in gates { gate.openUp() }
    }

    /// What `target` (path and query) answers from now on: one reply after the other, the last one for good.
    package func on(_ target: String, _ replies: OriginReply...) {
        core.state.withLock { state in
            state.replies[target] = replies
            for case .wait(let gate) in replies.flatMap(\.steps) { state.gates.append(gate) }
        }
    }

    package func url(_ target: String) -> String { "http://\(address):\(port)\(target)" }

    /// The requests so far, in order.
    package var requests: [OriginRequest] { core.state.withLock { $0.requests } }

    /// How many requests `target` got.
    package func count(_ target: String) -> Int { requests.filter { $0.target == target }.count }

    /// The most connections that were open at once.
    package var maximumConnections: Int { core.state.withLock { $0.maximumConnections } }

    /// All connections so far.
    package var acceptedConnections: Int { core.state.withLock { $0.accepted } }

    /// Returns once `target` has got `count` requests, or the test's time is over: what it expects then fails.
    package func waitForRequests(_ target: String, count: Int = 1) async {
        _ = await reached { core.state.withLock { $0.requests.count { $0.target == target } } >= count }
    }

    /// Returns once no connection is open, or the test's time is over.
    package func waitForLeave() async {
        _ = await reached { core.state.withLock { $0.connections.isEmpty } }
    }

    /// How many bytes the step `pour` has sent.
    package var poured: Int { core.state.withLock { $0.poured } }

    // MARK: - Threads

    private static func startThread(_ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.stackSize = 512 << 10
        thread.start()
    }

    private static func accept(_ core: Core) {
        defer {
            core.state.withLock { state in
                state.isListening = false
                close(core.listener)
            }
        }
        while true {
            let connection = Glibc.accept(core.listener, nil, nil)
            if connection < 0 {
                if errno == EINTR || errno == ECONNABORTED { continue }
                return
            }
            var on: Int32 = 1
            setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            let number: Int? = core.state.withLock { state in
                if state.stopped { return nil }
                state.connections.insert(connection)
                state.accepted += 1
                state.maximumConnections = max(state.maximumConnections, state.connections.count)
                return state.accepted
            }
            guard let number else {
                close(connection)
                return
            }
            startThread {
                serve(core, connection, number)
                // Out of the set first: a number that is closed may be another connection's the next moment.
                core.state.withLock { _ = $0.connections.remove(connection) }
                close(connection)
            }
        }
    }

    private static func serve(_ core: Core, _ connection: Int32, _ number: Int) {
        var buffer: [UInt8] = []
        while let request = readRequest(connection, number, &buffer) {
            let reply = core.state.withLock { state in
                state.requests.append(request)
                var replies = state.replies[request.target] ?? [.status(404)]
                let reply = replies.count > 1 ? replies.removeFirst() : replies[0]
                state.replies[request.target] = replies
                return reply
            }
            for step in reply.steps where !perform(step, connection, core) { return }
            if !reply.keepsConnection { return }
        }
    }

    /// The next request; nil at the end of the connection.
    private static func readRequest(_ connection: Int32, _ number: Int, _ buffer: inout [UInt8]) -> OriginRequest? {
        let blank = Array("\r\n\r\n".utf8)
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            if let end = buffer.firstRange(of: blank) {
                let lines = String(decoding: buffer[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
                buffer.removeSubrange(..<end.upperBound)
                var headers: [String: String] = [:]
                for line in lines.dropFirst() {
                    let parts = line.split(separator: ":", maxSplits: 1)
                    if parts.count == 2 {
                        headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
                    }
                }
                let words = lines[0].split(separator: " ")
                let length = headers["content-length"].flatMap { Int($0) } ?? 0
                while buffer.count < length {
                    let count = read(connection, &chunk, chunk.count)
                    if count <= 0 { return nil }
                    buffer.append(contentsOf: chunk[..<count])
                }
                let body = Array(buffer.prefix(length))
                buffer.removeFirst(length)
                return OriginRequest(
                    target: words.count > 1 ? String(words[1]) : "", headers: headers, body: body, connection: number,
                    time: .now)
            }
            let count = read(connection, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            if count <= 0 || buffer.count > 1 << 20 { return nil }
            buffer.append(contentsOf: chunk[..<count])
            // A TLS greeting: this server speaks none, and says so as others do.
            if buffer[0] == 0x16 {
                _ = sendAll(connection, OriginReply.head(400, []))
                return nil
            }
        }
    }

    /// False when the connection is over.
    private static func perform(_ step: OriginReply.Step, _ connection: Int32, _ core: Core) -> Bool {
        switch step {
        case .bytes(let bytes):
            return sendAll(connection, bytes)
        case .wait(let gate):
            gate.wait()
            return true
        case .drip(let bytes, let interval):
            for byte in bytes {
                guard sendAll(connection, [byte]) else { return false }
                // Nothing more is expected from the peer: readable means that it left.
                var poll = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
                let milliseconds = interval.components.attoseconds / 1_000_000_000_000_000
                if Glibc.poll(&poll, 1, Int32(interval.components.seconds * 1000 + milliseconds)) > 0 { return false }
            }
            return true
        case .pour:
            let bytes = [UInt8](repeating: 7, count: 16 << 10)
            while sendAll(connection, bytes) { core.state.withLock { $0.poured += bytes.count } }
            return false
        case .tunnel(let port):
            tunnel(connection, port)
            return false
        case .hang:
            var byte: UInt8 = 0
            while read(connection, &byte, 1) > 0 {}
            return false
        case .reset:
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(connection, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
            return false
        }
    }

    private static func tunnel(_ connection: Int32, _ port: UInt16) {
        let onward = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(onward) }
        var name = loopbackName("127.0.0.1", port)
        let isConnected = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(onward, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { return }
        var polls = [connection, onward].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        while poll(&polls, 2, -1) > 0 || errno == EINTR {
            for (end, other) in [(0, onward), (1, connection)] where polls[end].revents != 0 {
                let count = read(polls[end].fd, &chunk, chunk.count)
                guard count > 0, sendAll(other, Array(chunk[..<count])) else { return }
            }
        }
    }

    private static func sendAll(_ connection: Int32, _ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { all in
            var rest = all[...]
            while let start = UnsafeRawBufferPointer(rebasing: rest).baseAddress, !rest.isEmpty {
                let count = send(connection, start, rest.count, Int32(MSG_NOSIGNAL))
                if count < 0 && errno == EINTR { continue }
                if count <= 0 { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
    }
}

/// Why a server for tests could not be started.
package struct OriginServerError: Error {
    package let message: String
}

/// A socket that listens on an IPv4 address, on a port of the system's choice.
func listeningSocket(_ address: String) throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw OriginServerError(message: "socket: errno \(errno)") }
    var name = loopbackName(address, 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &name) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
            bind(descriptor, raw, length) == 0 && listen(descriptor, 1024) == 0
                && getsockname(descriptor, raw, &length) == 0 ? 0 : errno
        }
    }
    guard code == 0 else {
        close(descriptor)
        throw OriginServerError(message: "cannot listen on \(address): errno \(code)")
    }
    return (descriptor, UInt16(bigEndian: name.sin_port))
}

private func loopbackName(_ address: String, _ port: UInt16) -> sockaddr_in {
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = port.bigEndian
    inet_pton(AF_INET, address, &name.sin_addr)
    return name
}
