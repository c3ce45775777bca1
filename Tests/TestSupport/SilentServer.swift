import Concurrency
import Glibc

/// A Postgres server on loopback that accepts logins, `SET` and `SHOW transaction_isolation`, and answers nothing else:
/// no statement, no cancel request. Its connections stay open until it is released.
public final class SilentServer: Sendable {
    /// How far it answers.
    public enum Kind: Sendable {
        /// Connections are accepted, and not even logins are answered.
        case mute
        /// Logins, and what each session begins with, are answered.
        case open
    }

    /// What has arrived so far.
    public struct Arrivals: Sendable {
        /// Connections, cancel requests included.
        public var connections = 0
        /// Statements that are not answered.
        public var statements = 0
        /// Requests to cancel one.
        public var cancels = 0
    }

    /// Its port.
    public let port: UInt16
    private let descriptor: Int32
    private let kind: Kind
    // One accepts; each connection takes one.
    private let pool = ThreadPool(name: "silent-server", threads: 8)
    private let state = Locked((arrivals: Arrivals(), open: [Int32](), isClosed: false))

    struct Failure: Error {}

    /// Listens.
    public init(_ kind: Kind = .open) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        self.descriptor = descriptor
        self.kind = kind
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, "127.0.0.1", &name.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
                    && listen(descriptor, 64) == 0
            }
        }
        guard isListening else { throw Failure() }
        port = UInt16(bigEndian: name.sin_port)
        let (state, kind, pool) = (state, kind, pool)
        pool.submit { Self.accept(descriptor, kind, state, pool) }
    }

    deinit {
        state.withLock { state in
            state.isClosed = true
            for open in state.open { shutdown(open, Int32(SHUT_RDWR)) }
        }
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Its URL.
    public var url: String { "postgresql://larder@127.0.0.1:\(port)/larder?sslmode=disable&gssencmode=disable" }

    /// What has arrived so far.
    public var arrivals: Arrivals { state.withLock { $0.arrivals } }

    private typealias State = Locked<(arrivals: Arrivals, open: [Int32], isClosed: Bool)>

    private static func accept(_ descriptor: Int32, _ kind: Kind, _ state: State, _ pool: ThreadPool) {
        while true {
            let client = Glibc.accept(descriptor, nil, nil)
            guard client >= 0 else { break }
            let isClosed = state.withLock { state in
                state.open.append(client)
                state.arrivals.connections += 1
                return state.isClosed
            }
            if isClosed { shutdown(client, Int32(SHUT_RDWR)) }
            pool.submit {
                if kind == .open { serve(client, state) }
                // Open until the other side or `deinit` ends it.
                while read(1, from: client) != nil {}
                state.withLock { $0.open.removeAll { $0 == client } }
                close(client)
            }
        }
        close(descriptor)
    }

    private static func serve(_ client: Int32, _ state: State) {
        guard let length = self.length(from: client), let start = read(length - 4, from: client) else { return }
        if start.starts(with: [0x04, 0xd2, 0x16, 0x2e]) {
            state.withLock { $0.arrivals.cancels += 1 }
            _ = read(1, from: client)
            return
        }
        let ready: [UInt8] = [0x5a, 0, 0, 0, 5, 0x49]
        write([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x4b, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 1] + ready, to: client)
        while let kind = read(1, from: client)?.first, let length = self.length(from: client),
            let body = read(length - 4, from: client)
        {
            if kind == UInt8(ascii: "Q"), body.starts(with: "SET ".utf8) {
                write([0x43, 0, 0, 0, 8] + Array("SET\0".utf8) + ready, to: client)
            } else if kind == UInt8(ascii: "Q"), body.starts(with: "SHOW ".utf8) {
                write(levelRow + [0x43, 0, 0, 0, 9] + Array("SHOW\0".utf8) + ready, to: client)
            } else if kind == UInt8(ascii: "Q") || kind == UInt8(ascii: "S") {
                state.withLock { $0.arrivals.statements += 1 }
            }
        }
    }

    /// The description of a text column `a`, and a row of it.
    private static let levelRow: [UInt8] =
        [0x54, 0, 0, 0, 26, 0, 1, 0x61, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]
        + [0x44, 0, 0, 0, 24, 0, 1, 0, 0, 0, 14] + Array("read committed".utf8)

    private static func length(from client: Int32) -> Int? {
        read(4, from: client).map { $0.reduce(0) { $0 << 8 | Int($1) } }.flatMap {
            (4...65_536).contains($0) ? $0 : nil
        }
    }

    /// Exactly `count` bytes; nil at the end of the connection.
    private static func read(_ count: Int, from client: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var length = 0
        while length < count {
            let part = bytes.withUnsafeMutableBytes {
                recv(client, $0.baseAddress.map { $0 + length }, count - length, 0)
            }
            guard part > 0 else { return nil }
            length += part
        }
        return bytes
    }

    private static func write(_ bytes: [UInt8], to client: Int32) {
        _ = bytes.withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }
}
