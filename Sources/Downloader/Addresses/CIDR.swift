/// A range of addresses: those that share the first `prefix` bits with `base`.
public struct CIDR: Hashable, Sendable, CustomStringConvertible {
    package let base: IPAddress
    /// 0…32 for IPv4, 0…128 for IPv6.
    public let prefix: Int

    /// Reads `10.0.0.0/8` or `fd00::/8`; an address without prefix is a range of one. Bits after the prefix are
    /// ignored.
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

    /// The range around `address`; `prefix` must fit its family.
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
