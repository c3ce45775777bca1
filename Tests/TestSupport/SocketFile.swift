import Glibc

/// Whether a server accepts connections at the socket of this path. Its file exists before it does.
func acceptsConnections(_ path: String) -> Bool {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let fits = withUnsafeMutableBytes(of: &address.sun_path) { place in
        guard path.utf8.count < place.count else { return false }
        place.copyBytes(from: path.utf8)
        return true
    }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard fits, descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
        }
    }
}
