import Concurrency
import Foundation
import Glibc

/// A TLS server with faulty HTTP/2 and correct HTTP/1.1, by Debian's Python; ends with its last reference.
///
/// Over HTTP/2 it sends its settings and answers every request with the fault's frames. Over HTTP/1.1 the body is
/// `fine`; the body of `/count` is the number of HTTP/2 connections so far.
package final class BrokenHTTP2Server: Sendable {
    /// What a request over HTTP/2 gets.
    package enum Fault: String, Sendable, CaseIterable {
        /// Its stream is reset (RST_STREAM, INTERNAL_ERROR).
        case reset
        /// The connection is ended (GOAWAY, PROTOCOL_ERROR).
        case goAway
        /// The connection is ended before any stream of it was served (GOAWAY, ENHANCE_YOUR_CALM, last stream 0).
        case calm
        /// Bytes that are not a frame.
        case noise
        /// Nothing: the connection is closed.
        case closed
        /// The head of an answer of 1,000 bytes, ten of them, and a reset.
        case half
    }

    package let port: UInt16
    package let certificate: String
    private let directory: String
    private nonisolated(unsafe) var child: ChildProcess  // protected by: touched by init and deinit only

    /// - Throws: `OriginServerError` when openssl or python3 is missing or there is no socket.
    package init(_ fault: Fault) throws {
        var template = Array("\(NSTemporaryDirectory())/larder-h2-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw OriginServerError(message: "mkdtemp: errno \(errno)") }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        certificate = try NginxServer.makeCertificate(directory)
        let (listener, port) = try listeningSocket("127.0.0.1")
        defer { close(listener) }
        self.port = port
        child = try ChildProcess(
            "/usr/bin/python3", ["-c", Self.program, directory, fault.rawValue],
            descriptors: [-1, -1, -1, listener])
    }

    deinit {
        child.kill(SIGTERM)
        _ = child.wait()
        try? FileManager.default.removeItem(atPath: directory)
    }

    package func url(_ path: String) -> String { "https://127.0.0.1:\(port)\(path)" }

    private static let program = #"""
        import socket, ssl, struct, sys, threading
        directory, fault = sys.argv[1:]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(directory + "/cert.pem", directory + "/key.pem")
        context.set_alpn_protocols(["h2", "http/1.1"])
        connections = [0]

        def frame(kind, flags, stream, payload=b""):
            return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

        def answer(stream):
            if fault == "reset":
                return frame(3, 0, stream, struct.pack(">I", 2))
            if fault == "goAway":
                return frame(7, 0, 0, struct.pack(">II", stream, 1))
            if fault == "calm":
                return frame(7, 0, 0, struct.pack(">II", 0, 11))
            if fault == "noise":
                return b"\xff" * 64
            if fault == "closed":
                return b""
            # :status 200, content-length: 1000, etag: "1"
            head = b"\x88\x0f\x0d\x041000\x0f\x13\x03\"1\""
            # The answer to the ping shows that this was read; the reset follows then.
            return frame(1, 4, stream, head) + frame(0, 0, stream, b"0123456789") + frame(6, 0, 0, b"is there")

        def read(plain, count):
            data = b""
            while len(data) < count:
                more = plain.recv(count - len(data))
                if not more:
                    raise EOFError
                data += more
            return data

        def second(plain):
            connections[0] += 1
            read(plain, 24)
            plain.sendall(frame(4, 0, 0))
            asked = 0
            while True:
                head = read(plain, 9)
                size = int.from_bytes(head[:3], "big")
                kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
                read(plain, size)
                if kind == 4 and not flags & 1:
                    plain.sendall(frame(4, 1, 0))
                if kind == 6 and flags & 1:
                    plain.sendall(frame(3, 0, asked, struct.pack(">I", 2)))
                if kind == 1:
                    asked = stream
                    plain.sendall(answer(stream))
                    if fault in ("goAway", "calm", "noise", "closed"):
                        return

        def first(plain):
            data = b""
            while True:
                while b"\r\n\r\n" not in data:
                    more = plain.recv(4096)
                    if not more:
                        return
                    data += more
                request, data = data.split(b"\r\n\r\n", 1)
                body = str(connections[0]).encode() if b" /count " in request else b"fine"
                plain.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

        def serve(raw):
            try:
                with context.wrap_socket(raw, server_side=True) as plain:
                    (second if plain.selected_alpn_protocol() == "h2" else first)(plain)
            except (OSError, EOFError):
                pass

        listener = socket.socket(fileno=3)
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """#
}
