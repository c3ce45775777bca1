private import ImageModel

/// Identifies an image, or its source, in an image table: the sixteen bytes of an MD5.
package struct EntityID: Hashable, Sendable {
    /// Sixteen bytes.
    package let bytes: [UInt8]

    /// Identifies an image by its cache key.
    package init(_ key: CacheKey) { self.init(md5Of: key.text.utf8) }

    /// Identifies a source by the key of the original and a text that changes with its contents: an ETag or a digest.
    package init(source key: CacheKey, state: String) { self.init(md5Of: Array(key.text.utf8) + [0] + state.utf8) }

    private init(md5Of data: some Collection<UInt8>) {
        bytes = Self.bytes(GLibText.md5(of: data))
    }

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Parses a UUID; nil when `text` is not one.
    init?(text: String) {
        let digits = text.filter { $0 != "-" }
        let bytes = Self.bytes(digits)
        guard digits.utf8.count == 32, bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    private static func bytes(_ digits: String) -> [UInt8] {
        let digits = Array(digits)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...($0 + 1)]), radix: 16)
        }
    }

    var text: String {
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            text += byte.hexadecimal(digits: 2, uppercase: true)
        }
        return text
    }
}
