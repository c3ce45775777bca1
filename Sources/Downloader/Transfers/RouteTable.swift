private import Glibc

/// The kernel's main IPv4 routes and neighbours, from `/proc/net/route` and `/proc/net/arp`.
struct RouteTable: Sendable {
    private struct Route {
        let network: UInt32, mask: UInt32, gateway: UInt32
        let metric: Int
        let hasGateway: Bool
    }

    private static let up = 0x1, throughGateway = 0x2
    /// The kernel knows the neighbour's hardware address (`ATF_COM`).
    private static let complete = 0x2
    private static let maximumBytes = 256 << 10

    private var routes: [Route] = []
    /// Whether a neighbour has answered, by address.
    private var neighbours: [IPAddress: Bool] = [:]

    /// Parses the two files. Skips unknown lines.
    init(routes: String, neighbours: String) {
        for line in routes.split(separator: "\n").dropFirst() {
            let fields = line.split { $0 == "\t" || $0 == " " }
            guard fields.count >= 8, let network = Self.address(fields[1]), let gateway = Self.address(fields[2]),
                let flags = Int(fields[3], radix: 16), let metric = Int(fields[6]), let mask = Self.address(fields[7]),
                flags & Self.up != 0
            else { continue }
            self.routes.append(
                Route(
                    network: network, mask: mask, gateway: gateway, metric: metric,
                    hasGateway: flags & Self.throughGateway != 0))
        }
        for line in neighbours.split(separator: "\n").dropFirst() {
            let fields = line.split(separator: " ")
            guard fields.count >= 4, let address = IPAddress(fields[0]), fields[2].hasPrefix("0x"),
                let flags = Int(fields[2].dropFirst(2), radix: 16)
            else { continue }
            // One address may be a neighbour on several interfaces.
            self.neighbours[address, default: false] = self.neighbours[address] == true || flags & Self.complete != 0
        }
    }

    /// The current tables; nil if the system hides them. Reading these files does not block on a disk.
    static func ofKernel() -> RouteTable? {
        guard let routes = text(of: "/proc/net/route"), let neighbours = text(of: "/proc/net/arp") else { return nil }
        return RouteTable(routes: routes, neighbours: neighbours)
    }

    /// The gateway for an address, if it was asked for its hardware address and has not answered.
    func deadGateway(to address: IPAddress) -> IPAddress? {
        let bits = UInt32(truncatingIfNeeded: address.bits)
        let route = routes.filter { bits & $0.mask == $0.network }
            .min { $0.mask == $1.mask ? $0.metric < $1.metric : $0.mask > $1.mask }
        guard address.family == .v4, let route, route.hasGateway else { return nil }
        let gateway = IPAddress(v4: route.gateway)
        return neighbours[gateway] == false ? gateway : nil
    }

    /// Eight hexadecimal digits: network byte order read as a host number.
    private static func address(_ text: Substring) -> UInt32? {
        text.utf8.count == 8 ? UInt32(text, radix: 16).map { UInt32(bigEndian: $0) } : nil
    }

    private static func text(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: maximumBytes)
        var length = 0
        while length < bytes.count {
            let part = bytes.withUnsafeMutableBytes { rest in
                rest.baseAddress.map { read(descriptor, $0 + length, rest.count - length) } ?? 0
            }
            guard part > 0 else { break }
            length += part
        }
        return String(decoding: bytes.prefix(length), as: UTF8.self)
    }
}
