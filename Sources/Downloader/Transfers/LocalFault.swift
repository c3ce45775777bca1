private import CCurl
private import Glibc
private import ImageModel

/// Error numbers of connections and files that mean a fault of this machine, not of an origin: error 501.
package enum LocalFault {
    /// What this machine lacks; nil when the number does not say so.
    package static func reason(_ number: Int32) -> String? {
        // An address of one family may have no route on a healthy machine.
        if isRouteFault(number) { return hasRoute ? nil : "no interface has a route to the internet" }
        return MachineShortage.reason(number)
    }

    /// Whether the number of a connection may be this machine's fault as well as the host's: a gateway that is down
    /// gives the same numbers as a host that is, and a filter on the way refuses or resets connections as a host does.
    /// One to this machine itself passes no filter.
    static func isPossible(_ number: Int32, to addresses: [IPAddress]) -> Bool {
        if number == EHOSTUNREACH || isRouteFault(number) { return true }
        return [ECONNREFUSED, ECONNRESET].contains(number) && addresses.contains { !$0.isLoopback }
    }

    /// Which gateway on the way to all of these addresses does not answer the kernel; nil when one may answer. Without
    /// addresses: on the way to a public one, for lookups. The kernel shows neighbours as files for IPv4 only.
    static func deadGateway(to addresses: [IPAddress]) -> String? {
        let addresses = (addresses.isEmpty ? [publicAddress] : addresses).filter { $0.family == .v4 }
        guard !addresses.isEmpty, let routes = RouteTable.ofKernel() else { return nil }
        let dead = addresses.compactMap { routes.deadGateway(to: $0) }
        return dead.count == addresses.count ? "the gateway \(dead[0]) does not answer" : nil
    }

    /// 198.51.100.1, of a range for documentation.
    private static let publicAddress = IPAddress(v4: 0xc633_6401)

    private static func isRouteFault(_ number: Int32) -> Bool {
        [ENETUNREACH, ENETDOWN, EADDRNOTAVAIL].contains(number)
    }

    /// Whether the kernel has a route to a public address of either family. Nothing is sent.
    private static var hasRoute: Bool {
        var v4 = sockaddr_in()
        v4.sin_family = sa_family_t(AF_INET)
        v4.sin_port = UInt16(443).bigEndian
        v4.sin_addr.s_addr = UInt32(truncatingIfNeeded: publicAddress.bits).bigEndian
        var v6 = sockaddr_in6()
        v6.sin6_family = sa_family_t(AF_INET6)
        v6.sin6_port = UInt16(443).bigEndian
        // 2001:db8::1, of a range for documentation.
        withUnsafeMutableBytes(of: &v6.sin6_addr) { bytes in
            bytes.copyBytes(from: [0x20, 0x01, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [1])
        }
        return withUnsafeBytes(of: &v4) { isRouted(AF_INET, $0) } || withUnsafeBytes(of: &v6) { isRouted(AF_INET6, $0) }
    }

    /// Connecting a datagram socket looks the route up.
    private static func isRouted(_ family: Int32, _ address: UnsafeRawBufferPointer) -> Bool {
        let descriptor = socket(family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        // Without a descriptor nothing is known about routes.
        guard descriptor >= 0 else { return errno != EAFNOSUPPORT }
        defer { close(descriptor) }
        guard let start = address.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return true }
        return connect(descriptor, start, socklen_t(address.count)) == 0
    }
}
