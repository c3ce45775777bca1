import Glibc

/// A port on loopback that refuses connections and that no other process can get meanwhile.
public final class DeadPort: Sendable {
    /// Its number.
    public let port: UInt16
    private let descriptor: Int32

    struct Failure: Error {}

    /// Takes one.
    public init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        self.descriptor = descriptor
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, "127.0.0.1", &name.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                // Bound and not listening: the kernel refuses, and gives the number to no other process.
                bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isBound else { throw Failure() }
        port = UInt16(bigEndian: name.sin_port)
    }

    deinit { close(descriptor) }
}
