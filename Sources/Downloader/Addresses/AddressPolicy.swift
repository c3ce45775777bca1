/// The addresses and ports that a download may reach; by default only the public internet.
///
/// Refuses the ranges in the IANA special-purpose registries, and public addresses that clouds use for their hosts'
/// services. IPv6 allows only global unicast (2000::/3); an IPv4 address embedded in it must be allowed too.
public struct AddressPolicy: Sendable, Equatable {
    /// Special ranges that are allowed, `--allow-address`.
    public let allowedAddresses: [CIDR]
    /// Ports allowed in addition to 80, 443, 8080 and 8443, `--allow-port`.
    public let allowedPorts: Set<UInt16>

    /// Refuses all special ranges except the given ones.
    public init(allowedAddresses: [CIDR] = [], allowedPorts: Set<UInt16> = []) {
        self.allowedAddresses = allowedAddresses
        self.allowedPorts = allowedPorts
    }

    /// Whether a request may go to this port.
    public func allows(port: UInt16) -> Bool {
        [80, 443, 8080, 8443].contains(port) || allowedPorts.contains(port)
    }

    /// Whether a connection may be made to this address.
    package func allows(_ address: IPAddress) -> Bool { refusal(of: address) == nil }

    /// Why the address is refused, for messages; nil if it is allowed.
    package func refusal(of address: IPAddress) -> String? {
        // The kernel treats a mapped address as the IPv4 address.
        if let mapped = address.mapped { return refusal(of: mapped) }
        if allowedAddresses.contains(where: { $0.contains(address) }) { return nil }
        if let special = Self.special(address) { return special }
        for embedded in address.embedded {
            if let special = Self.special(embedded) { return "contains \(embedded), \(special)" }
        }
        return nil
    }

    /// The narrowest range that allows an address, in CIDR notation: all of loopback, else the single address.
    package static func range(opening address: IPAddress) -> String {
        if let mapped = address.mapped { return range(opening: mapped) }
        let loopback = v4(127, 0, 0, 8)
        if loopback.contains(address) { return "127.0.0.0/8" }
        return "\(address)/\(address.family == .v4 ? 32 : 128)"
    }

    private static func special(_ address: IPAddress) -> String? {
        if let range = ranges.first(where: { $0.0.contains(address) }) { return range.1 }
        if address.family == .v4 || globalUnicast.contains(address) || translated.contains(address) { return nil }
        return "outside the global addresses"
    }

    private static func v6(_ high: UInt64, _ prefix: Int) -> CIDR {
        CIDR(IPAddress(v6: UInt128(high) << 64), prefix)
    }

    private static func v4(_ a: UInt32, _ b: UInt32, _ c: UInt32, _ prefix: Int) -> CIDR {
        CIDR(IPAddress(v4: a << 24 | b << 16 | c << 8), prefix)
    }

    private static let globalUnicast = v6(0x2000_0000_0000_0000, 3)
    /// The NAT64 prefix, used by IPv6-only networks to reach IPv4. Allowed if the IPv4 address is.
    private static let translated = v6(0x0064_ff9b_0000_0000, 96)

    private static let ranges: [(CIDR, String)] = [
        (v4(0, 0, 0, 8), "unspecified"), (v4(10, 0, 0, 8), "private"), (v4(100, 64, 0, 10), "carrier-grade NAT"),
        (v4(127, 0, 0, 8), "loopback"), (v4(169, 254, 0, 16), "link-local"), (v4(172, 16, 0, 12), "private"),
        (CIDR(IPAddress(v4: 0xa83f_8110), 32), "host services of Azure"),
        (v4(161, 26, 0, 16), "private services of IBM Cloud"), (v4(166, 8, 0, 14), "private services of IBM Cloud"),
        (v4(192, 0, 0, 24), "reserved"), (v4(192, 0, 2, 24), "documentation"), (v4(192, 88, 99, 24), "6to4 relay"),
        (v4(192, 168, 0, 16), "private"), (v4(198, 18, 0, 15), "benchmarking"),
        (v4(198, 51, 100, 24), "documentation"), (v4(203, 0, 113, 24), "documentation"),
        (v4(224, 0, 0, 4), "multicast"), (CIDR(IPAddress(v4: .max), 32), "broadcast"), (v4(240, 0, 0, 4), "reserved"),
        (CIDR(IPAddress(v6: 0), 128), "unspecified"), (CIDR(IPAddress(v6: 1), 128), "loopback"),
        (v6(0x0064_ff9b_0001_0000, 48), "local NAT64"), (v6(0x0100_0000_0000_0000, 64), "discard-only"),
        (v6(0x2001_0000_0000_0000, 23), "reserved (Teredo, ORCHID, benchmarking)"),
        (v6(0x2001_0db8_0000_0000, 32), "documentation"), (v6(0x3fff_0000_0000_0000, 20), "documentation"),
        (v6(0xfc00_0000_0000_0000, 7), "unique local"), (v6(0xfe80_0000_0000_0000, 10), "link-local"),
        (v6(0xfec0_0000_0000_0000, 10), "site-local"), (v6(0xff00_0000_0000_0000, 8), "multicast"),
    ]
}

extension IPAddress {
    /// The IPv4 address of `::ffff:a.b.c.d`.
    fileprivate var mapped: IPAddress? {
        family == .v6 && bits >> 32 == 0xffff ? IPAddress(v4: UInt32(truncatingIfNeeded: bits)) : nil
    }

    /// The IPv4 addresses that a router may extract: NAT64, 6to4 and ISATAP. Teredo and the compatible form are refused
    /// entirely.
    fileprivate var embedded: [IPAddress] {
        guard family == .v6 else { return [] }
        var found: [IPAddress] = []
        let low = IPAddress(v4: UInt32(truncatingIfNeeded: bits))
        if bits >> 32 == 0x0064_ff9b_0000_0000_0000_0000 { found.append(low) }
        if bits >> 112 == 0x2002 { found.append(IPAddress(v4: UInt32(truncatingIfNeeded: bits >> 80))) }
        let identifier = UInt32(truncatingIfNeeded: bits >> 32)
        if identifier == 0x0000_5efe || identifier == 0x0200_5efe { found.append(low) }
        return found
    }
}

/// The addresses that share the first `prefix` bits with `base`.
public struct CIDR: Hashable, Sendable, CustomStringConvertible {
    package let base: IPAddress
    /// 0…32 for IPv4, 0…128 for IPv6.
    public let prefix: Int

    /// Parses `10.0.0.0/8` or `fd00::/8`; an address alone is a range of one. Ignores bits after the prefix.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(first) else { return nil }
        var prefix = address.family.width
        if parts.count == 2 {
            let digits = parts[1].utf8
            guard (1...3).contains(digits.count), digits.allSatisfy({ (48...57).contains($0) }),
                let length = Int(parts[1]), length <= prefix
            else { return nil }
            prefix = length
        }
        self.init(address, prefix)
    }

    init(_ address: IPAddress, _ prefix: Int) {
        precondition((0...address.family.width).contains(prefix), "a prefix has at most as many bits as an address")
        let free = address.family.width - prefix
        let bits = (address.bits >> UInt128(free)) << UInt128(free)
        base = address.family == .v4 ? IPAddress(v4: UInt32(truncatingIfNeeded: bits)) : IPAddress(v6: bits)
        self.prefix = prefix
    }

    package func contains(_ address: IPAddress) -> Bool {
        guard address.family == base.family else { return false }
        return (address.bits ^ base.bits) >> UInt128(base.family.width - prefix) == 0
    }

    /// `10.0.0.0/8`.
    public var description: String { "\(base)/\(prefix)" }
}
