private import CCurl
private import Glibc
private import ImageModel

/// Error numbers of connections and files that mean a fault of this machine: error 501.
package enum LocalFault {
    /// The shortage of this machine; nil if the number does not mean one.
    package static func reason(_ number: Int32) -> String? {
        // On a healthy machine one address family may have no route.
        if isRouteFault(number) { return hasRoute ? nil : "no interface has a route to the internet" }
        return MachineShortage.reason(number)
    }

    /// Whether a connection's error number may be this machine's fault too: a dead gateway gives the same numbers as a
    /// dead host, and a firewall refuses or resets connections like a host. Connections to this machine pass no
    /// firewall.
    static func isPossible(_ number: Int32, to addresses: [IPAddress]) -> Bool {
        if number == EHOSTUNREACH || isRouteFault(number) { return true }
        return [ECONNREFUSED, ECONNRESET].contains(number) && addresses.contains { !$0.isLoopback }
    }

    /// The gateway to all these addresses that does not answer the kernel; nil if one may answer. Without addresses:
    /// the gateway to a public address, for lookups. The kernel shows neighbours as files for IPv4 only.
    static func deadGateway(to addresses: [IPAddress]) -> String? {
        let addresses = (addresses.isEmpty ? [publicAddress] : addresses).filter { $0.family == .v4 }
        guard !addresses.isEmpty, let routes = RouteTable.ofKernel() else { return nil }
        let dead = addresses.compactMap { routes.deadGateway(to: $0) }
        return dead.count == addresses.count ? "the gateway \(dead[0]) does not answer" : nil
    }

    /// 198.51.100.1, from a documentation range.
    private static let publicAddress = IPAddress(v4: 0xc633_6401)

    private static func isRouteFault(_ number: Int32) -> Bool {
        [ENETUNREACH, ENETDOWN, EADDRNOTAVAIL].contains(number)
    }

    /// Whether the kernel has a route to a public address of either family. Sends nothing.
    private static var hasRoute: Bool {
        var v4 = sockaddr_in()
        v4.sin_family = sa_family_t(AF_INET)
        v4.sin_port = UInt16(443).bigEndian
        v4.sin_addr.s_addr = UInt32(truncatingIfNeeded: publicAddress.bits).bigEndian
        var v6 = sockaddr_in6()
        v6.sin6_family = sa_family_t(AF_INET6)
        v6.sin6_port = UInt16(443).bigEndian
        // 2001:db8::1, from a documentation range.
        withUnsafeMutableBytes(of: &v6.sin6_addr) { bytes in
            bytes.copyBytes(from: [0x20, 0x01, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [1])
        }
        return withUnsafeBytes(of: &v4) { isRouted(AF_INET, $0) } || withUnsafeBytes(of: &v6) { isRouted(AF_INET6, $0) }
    }

    /// Connecting a datagram socket looks up the route.
    private static func isRouted(_ family: Int32, _ address: UnsafeRawBufferPointer) -> Bool {
        let descriptor = socket(family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        // Without a descriptor nothing is known about routes.
        guard descriptor >= 0 else { return errno != EAFNOSUPPORT }
        defer { close(descriptor) }
        guard let start = address.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return true }
        return connect(descriptor, start, socklen_t(address.count)) == 0
    }
}
