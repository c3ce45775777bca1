import Glibc
package import Terminal

/// A listen address: `HOST:PORT`, `[IPV6]:PORT`, `:PORT` for all addresses, or `PORT` for loopback only.
package struct ListenAddress: Equatable {
    package let host: String
    /// 0: any free port.
    package let port: UInt16

    package init(host: String, port: UInt16) { (self.host, self.port) = (host, port) }

    /// Whether only this machine can connect.
    package var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }

    /// Nil if invalid.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else {
            guard let port = UInt16(text) else { return nil }
            (host, self.port) = ("127.0.0.1", port)
            return
        }
        guard let port = UInt16(text[text.index(after: colon)...]) else { return nil }
        var name = String(text[..<colon])
        if name.hasPrefix("["), name.hasSuffix("]") {
            name = String(name.dropFirst().dropLast())
        } else if name.contains(":") {
            return nil
        }
        (host, self.port) = (name.isEmpty ? "0.0.0.0" : name, port)
    }

    /// A listening socket and its port. Blocks while a name is resolved.
    ///
    /// - Throws: a `CommandError` naming the address.
    package func listen() throws(CommandError) -> (socket: Int32, port: UInt16) {
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, "\(port)", &hints, &found)
        guard status == 0, let address = found else {
            throw failure(String(cString: gai_strerror(status)))
        }
        defer { freeaddrinfo(found) }
        let handle = socket(
            address.pointee.ai_family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard handle >= 0 else { throw failure(String(cString: strerror(errno))) }
        var yes: Int32 = 1
        setsockopt(handle, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard bind(handle, address.pointee.ai_addr, address.pointee.ai_addrlen) == 0, Glibc.listen(handle, 64) == 0
        else {
            let message =
                String(cString: strerror(errno)) + (errno == EADDRINUSE ? "; --listen selects another address" : "")
            close(handle)
            throw failure(message)
        }
        return (handle, Self.port(of: handle))
    }

    private func failure(_ message: String) -> CommandError {
        .larder(.other, "cannot listen on \(host):\(port): \(message)")
    }

    private static func port(of handle: Int32) -> UInt16 {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(handle, $0, &size) }
            // The port is at the same offset for both families.
            return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                UInt16(bigEndian: $0.pointee.sin_port)
            }
        }
    }
}
