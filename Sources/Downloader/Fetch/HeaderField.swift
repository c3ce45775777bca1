/// One header, of a request or of an answer.
public struct HeaderField: Hashable, Sendable, Codable {
    /// A token of RFC 9110; its case means nothing.
    public let name: String
    /// The text behind the colon, without blanks around it.
    public let value: String

    /// A header as it is; whether it may be sent is asked by `isSendable`.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Headers that decide where a message ends or whom it is for: a request must not bring its own.
    private static let reserved: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect", "keep-alive",
        "proxy-authorization", "proxy-connection",
    ]
    /// Headers of a request that may go with it to another origin; all others may be secrets.
    private static let travelling: Set<String> = ["accept", "accept-language", "user-agent"]
    private static let longestValue = 8 << 10

    /// Whether the name is a token and not reserved, and the value printable, at most 8 KiB and on one line.
    public var isSendable: Bool {
        let isToken = name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
        return !name.isEmpty && isToken && !Self.reserved.contains(name.lowercased())
            && value.utf8.count <= Self.longestValue
            && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }
    }

    /// Whether a redirect to another origin may take it along.
    var travels: Bool { Self.travelling.contains(name.lowercased()) }

    func isNamed(_ other: String) -> Bool { name.lowercased() == other.lowercased() }
}

extension [HeaderField] {
    /// The first value of that name, in whatever case.
    public subscript(_ name: String) -> String? { first { $0.isNamed(name) }?.value }
}
