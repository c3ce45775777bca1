import Concurrency
import Foundation

/// What a scripted server does with one request, byte by byte.
package struct OriginReply: Sendable {
    /// One act of the server.
    package enum Step: Sendable {
        case bytes([UInt8])
        /// Goes on when the test opens the gate.
        case wait(OriginGate)
        /// Sends the bytes one by one, one each interval, until the peer leaves.
        case drip([UInt8], interval: Duration)
        /// Sends bytes for ever, until the peer leaves.
        case pour
        /// Passes bytes on to a port of this machine, and back, until one side ends: what a proxy does.
        case tunnel(to: UInt16)
        /// Keeps the connection and sends nothing until the peer leaves.
        case hang
        /// Ends the connection with an RST.
        case reset
    }

    package var steps: [Step]
    /// Whether the next request may come over the same connection.
    package var keepsConnection: Bool

    package init(_ steps: [Step], keepsConnection: Bool = false) {
        self.steps = steps
        self.keepsConnection = keepsConnection
    }

    /// The head of an answer with these headers, exactly.
    package static func head(_ status: Int, _ headers: [(String, String)]) -> [UInt8] {
        Array(("HTTP/1.1 \(status) Scripted\r\n" + headers.map { "\($0): \($1)\r\n" }.joined() + "\r\n").utf8)
    }

    /// A whole answer with the right length; the connection stays.
    package static func body(
        _ body: [UInt8], status: Int = 200, _ headers: [(String, String)] = []
    ) -> OriginReply {
        let all = headers + [("Content-Length", "\(body.count)")]
        return OriginReply([.bytes(head(status, all) + body)], keepsConnection: true)
    }

    /// A status without a body.
    package static func status(_ status: Int, _ headers: [(String, String)] = []) -> OriginReply {
        .body([], status: status, headers)
    }

    package static func redirect(to location: String, status: Int = 302) -> OriginReply {
        .body([], status: status, [("Location", location)])
    }

    /// A body without a length, in chunks.
    package static func chunked(_ chunks: [[UInt8]], _ headers: [(String, String)] = []) -> OriginReply {
        var bytes = head(200, headers + [("Transfer-Encoding", "chunked")])
        for chunk in chunks where !chunk.isEmpty {
            bytes += Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + [13, 10]
        }
        return OriginReply([.bytes(bytes + Array("0\r\n\r\n".utf8))], keepsConnection: true)
    }

    /// Promises more than it sends, then closes.
    package static func truncated(_ body: [UInt8], promised: Int) -> OriginReply {
        OriginReply([.bytes(head(200, [("Content-Length", "\(promised)")]) + body)])
    }

    /// These bytes as they are, then the end.
    package static func raw(_ bytes: [UInt8]) -> OriginReply { OriginReply([.bytes(bytes)]) }

    /// Takes the request and never answers.
    package static let silent = OriginReply([.hang])
}

/// A request as a scripted server saw it.
package struct OriginRequest: Sendable {
    /// As on the request line: path and query.
    package let target: String
    /// Names in lower case.
    package let headers: [String: String]
    /// As its `Content-Length` says.
    package let body: [UInt8]
    /// The number of its connection, from 1 on.
    package let connection: Int
    /// When its head was there.
    package let time: ContinuousClock.Instant
}

/// Something the server waits for until the test, or the server's end, opens it.
package final class OriginGate: Sendable {
    private let open = Locked(false)
    private let waiting = Locked(0)
    private let condition = NSCondition()

    package init() {}

    /// How many connections wait.
    package var waiterCount: Int { waiting.withLock { $0 } }

    package func openUp() {
        condition.lock()
        open.withLock { $0 = true }
        condition.broadcast()
        condition.unlock()
    }

    /// Blocks the calling thread until the gate is open.
    package func wait() {
        waiting.withLock { $0 += 1 }
        defer { waiting.withLock { $0 -= 1 } }
        condition.lock()
        while !open.withLock({ $0 }) { condition.wait() }
        condition.unlock()
    }
}
