import Glibc

/// A port on loopback that answers no attempt to connect, as an address behind a router does whose host is gone.
///
/// The queue of its listening socket is full, and the kernel drops further attempts.
public final class SilentAddress: Sendable {
    /// Its port.
    public let port: UInt16
    private let descriptors: [Int32]

    struct Failure: Error {}

    /// Fills the queue.
    public init() throws {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        // Two fill a queue of length 0; the third is dropped.
        let descriptors = (0..<4).map { _ in socket(AF_INET, kind, 0) }
        self.descriptors = descriptors
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, "127.0.0.1", &name.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isReady = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(descriptors[0], address, length) == 0, getsockname(descriptors[0], address, &length) == 0,
                    listen(descriptors[0], 0) == 0
                else { return false }
                return descriptors[1...].allSatisfy { connect($0, address, length) == 0 || errno == EINPROGRESS }
            }
        }
        guard isReady else { throw Failure() }
        port = UInt16(bigEndian: name.sin_port)
    }

    deinit { descriptors.forEach { _ = close($0) } }
}
