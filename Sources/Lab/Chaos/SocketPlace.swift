import Glibc
import Terminal

/// A stream socket's address: a path, or a host and port.
enum SocketPlace: Sendable, Equatable {
    case path(String)
    case port(host: String, number: UInt16)

    /// Listens without blocking; the place has the port that the system chose for port 0.
    func listen() throws(CommandError) -> (descriptor: Int32, place: SocketPlace) {
        switch self {
        case .path(let path):
            unlink(path)
            guard let descriptor = open({ Glibc.bind($0, $1, $2) }), Glibc.listen(descriptor, 512) == 0 else {
                throw .file("listen at", path)
            }
            // A pooler of another user connects to it; the directory is the run's own.
            chmod(path, 0o666)
            return (descriptor, self)
        case .port(let host, _):
            guard let descriptor = open({ Glibc.bind($0, $1, $2) }), Glibc.listen(descriptor, 512) == 0 else {
                throw .file("listen at", host)
            }
            var name = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutablePointer(to: &name) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &length) }
            }
            return (descriptor, .port(host: host, number: UInt16(bigEndian: name.sin_port)))
        }
    }

    /// A connected or connecting socket; nil if refused.
    func connect() -> Int32? {
        open { descriptor, name, length in
            let code = Glibc.connect(descriptor, name, length)
            return code == 0 || errno == EINPROGRESS ? 0 : code
        }
    }

    /// A listening socket's next connection, non-blocking; nil if none waits.
    static func accept(_ listener: Int32) -> Int32? {
        let descriptor = Glibc.accept(listener, nil, nil)
        guard descriptor >= 0 else { return nil }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        return descriptor
    }

    /// A non-blocking socket on which `call` succeeded for one of the addresses.
    private func open(_ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32? {
        switch self {
        case .path(let path):
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(path.utf8)
            guard bytes.count < MemoryLayout.size(ofValue: name.sun_path) else {
                errno = ENAMETOOLONG
                return nil
            }
            withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
            return withUnsafePointer(to: &name) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Self.socket(AF_UNIX, $0, socklen_t(MemoryLayout<sockaddr_un>.size), call)
                }
            }
        case .port(let host, let number):
            var hints = addrinfo()
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
            var list: UnsafeMutablePointer<addrinfo>?
            guard getaddrinfo(host, String(number), &hints, &list) == 0 else {
                errno = EADDRNOTAVAIL
                return nil
            }
            defer { freeaddrinfo(list) }
            var next = list
            while let entry = next?.pointee {
                if let name = entry.ai_addr, let made = Self.socket(entry.ai_family, name, entry.ai_addrlen, call) {
                    return made
                }
                next = entry.ai_next
            }
            return nil
        }
    }

    private static func socket(
        _ family: Int32, _ name: UnsafePointer<sockaddr>, _ length: socklen_t,
        _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32? {
        let flags = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let descriptor = Glibc.socket(family, Int32(flags), 0)
        guard descriptor >= 0 else { return nil }
        guard call(descriptor, name, length) == 0 else {
            let code = errno
            close(descriptor)
            errno = code
            return nil
        }
        return descriptor
    }
}
