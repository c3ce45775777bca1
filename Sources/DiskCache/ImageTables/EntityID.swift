/// Sixteen bytes that name a picture, or its source, in an image table: an MD5.
public struct EntityID: Hashable, Sendable {
    /// The sixteen bytes.
    public let bytes: [UInt8]

    /// The picture of a variant's cache key.
    public init(_ key: CacheKey) { self.init(md5Of: key.text.utf8) }

    /// The source of a picture: the original's key and what tells one state of it from another, an ETag or a digest.
    public init(source key: CacheKey, state: String) { self.init(md5Of: Array(key.text.utf8) + [0] + state.utf8) }

    private init(md5Of data: some Collection<UInt8>) {
        let digits = Array(GLibText.md5(of: data).string)
        bytes = stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
    }

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Reads the text of `text`.
    init?(text: String) {
        let digits = Array(text.filter { $0 != "-" })
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...($0 + 1)]), radix: 16)
        }
        guard digits.count == 32, bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// As a UUID in capitals: `8-4-4-4-12` hexadecimal digits.
    var text: String {
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            let digits = String(byte, radix: 16, uppercase: true)
            text += digits.count == 1 ? "0" + digits : digits
        }
        return text
    }
}
