/// A request or response header.
public struct HeaderField: Hashable, Sendable, Codable {
    /// An RFC 9110 token, compared without case.
    public let name: String
    /// The text after the colon, without surrounding white space.
    public let value: String

    /// Creates a header without checks; `isSendable` tells whether a request may carry it.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Headers that delimit or route a message; only the downloader sets them.
    private static let reserved: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect", "keep-alive",
        "proxy-authorization", "proxy-connection",
    ]
    /// Request headers allowed to other origins; all others may contain secrets.
    private static let harmless: Set<String> = [
        "accept", "accept-language", "user-agent",
    ]
    private static let maximumValueBytes = 8 << 10

    /// Whether the name is an unreserved token and the value one printable line of at most 8 KiB.
    public var isSendable: Bool {
        Self.isToken(name) && !Self.reserved.contains(name.lowercased())
            && value.utf8.count <= Self.maximumValueBytes
            && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }
    }

    /// Whether the text is an RFC 9110 token.
    package static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20)
                    || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
    }

    /// Whether it survives a redirect to another origin.
    var isKeptAcrossOrigins: Bool { Self.harmless.contains(name.lowercased()) }

    /// Whether it makes a request conditional on one URL's copy; redirects remove it.
    var isValidator: Bool { isNamed("If-None-Match") || isNamed("If-Modified-Since") }

    func isNamed(_ other: String) -> Bool { name.lowercased() == other.lowercased() }
}

extension [HeaderField] {
    /// The first value of a name. Setting replaces all headers of that name; nil removes them.
    public subscript(_ name: String) -> String? {
        get { first { $0.isNamed(name) }?.value }
        set {
            let index = firstIndex { $0.isNamed(name) } ?? endIndex
            removeAll { $0.isNamed(name) }
            if let newValue { insert(HeaderField(name, newValue), at: index) }
        }
    }
}
