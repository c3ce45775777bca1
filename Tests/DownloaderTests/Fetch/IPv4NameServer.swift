import Concurrency
import Foundation
import Glibc

/// A name server on loopback that answers each A query with one address or NXDOMAIN and no other query, or every query
/// with SERVFAIL; it ends with its last reference.
final class IPv4NameServer: Sendable {
    let port: UInt16
    private let descriptor: Int32
    private let asked = Locked<[String]>([])

    /// - Parameter address: the address of every name; empty for NXDOMAIN, nil for SERVFAIL.
    init(address: [UInt8]?) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard bound else { throw CocoaError(.featureUnsupported) }
        self.descriptor = descriptor
        port = UInt16(bigEndian: name.sin_port)
        let asked = asked
        Thread.detachNewThread { Self.serve(descriptor, address, asked) }
    }

    deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// The names of all queries.
    var names: [String] { asked.withLock { $0 } }

    /// Answers until the socket is shut down.
    private static func serve(_ descriptor: Int32, _ address: [UInt8]?, _ asked: borrowing Locked<[String]>) {
        var query = [UInt8](repeating: 0, count: 512)
        while true {
            var peer = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let count = withUnsafeMutablePointer(to: &peer) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(descriptor, &query, query.count, 0, $0, &length)
                }
            }
            guard count > 12 else { break }
            var labels: [String] = [], position = 12
            while position < count, query[position] != 0 {
                let size = Int(query[position])
                labels.append(String(decoding: query[position + 1..<position + 1 + size], as: UTF8.self))
                position += size + 1
            }
            let name = labels.joined(separator: ".")
            asked.withLock { $0.append(name) }
            guard query[position + 2] == 1 || address == nil else { continue }
            let question = query[12..<position + 5]
            // One answer: a pointer to the name of the question, type A, class IN, 60 s, 4 bytes.
            let answer: ArraySlice<UInt8> =
                if address == [] {
                    query[0..<2] + [0x81, 0x83, 0, 1, 0, 0, 0, 0, 0, 0] + question
                } else if let address {
                    query[0..<2] + [0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0] + question
                        + [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4] + address
                } else {
                    query[0..<2] + [0x81, 0x82, 0, 1, 0, 0, 0, 0, 0, 0] + question
                }
            _ = withUnsafePointer(to: &peer) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    sendto(descriptor, Array(answer), answer.count, 0, $0, length)
                }
            }
        }
        close(descriptor)
    }
}
