private import Glibc

/// An IPv4 or IPv6 address as a number.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    package enum Family: Hashable, Sendable {
        case v4
        case v6

        /// 32 or 128 bits.
        package var width: Int { self == .v4 ? 32 : 128 }
    }

    package let family: Family
    /// Host byte order; IPv4 in the low 32 bits.
    package let bits: UInt128

    package init(v4 bits: UInt32) {
        family = .v4
        self.bits = UInt128(bits)
    }

    package init(v6 bits: UInt128) {
        family = .v6
        self.bits = bits
    }

    /// True for 127.0.0.0/8 and ::1.
    var isLoopback: Bool { family == .v4 ? bits >> 24 == 127 : bits == 1 }

    /// Parses four decimal numbers, or RFC 4291 without brackets and zone, like `inet_pton`.
    package init?(_ text: some StringProtocol) {
        guard !text.utf8.contains(0) else { return nil }
        let text = String(text)
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 {
            self.init(v4: UInt32(bigEndian: v4.s_addr))
            return
        }
        var v6 = in6_addr()
        guard inet_pton(AF_INET6, text, &v6) == 1 else { return nil }
        self.init(v6: withUnsafeBytes(of: v6) { UInt128(bigEndian: $0.loadUnaligned(as: UInt128.self)) })
    }

    init?(socketAddress: UnsafeRawPointer) {
        switch Int32(socketAddress.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET:
            self.init(v4: UInt32(bigEndian: socketAddress.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
        case AF_INET6:
            let address = socketAddress.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            self.init(v6: withUnsafeBytes(of: address) { UInt128(bigEndian: $0.loadUnaligned(as: UInt128.self)) })
        default:
            return nil
        }
    }

    package var description: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
            switch family {
            case .v4:
                var address = in_addr(s_addr: UInt32(truncatingIfNeeded: bits).bigEndian)
                inet_ntop(AF_INET, &address, text.baseAddress, socklen_t(text.count))
            case .v6:
                var address = bits.bigEndian
                inet_ntop(AF_INET6, &address, text.baseAddress, socklen_t(text.count))
            }
            return text.baseAddress.map { String(cString: $0) } ?? ""
        }
    }
}
