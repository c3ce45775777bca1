/// The text under which the cache keeps one picture, and what follows from it: derived keys, the file's name, the scale.
///
/// Two keys are equal when their bytes are: case, escapes and Unicode forms all count, unlike with `String`.
/// Source: SDWebImage 5.21.5, `SDDiskCache` and `SDTransformedKeyForKey`.
public struct CacheKey: Hashable, Sendable, CustomStringConvertible {
    /// The key as given; nothing is normalised. For an original this is its URL.
    public let text: String

    /// A key with this text; any text will do, URL or not.
    public init(_ text: String) { self.text = text }

    /// `text`.
    public var description: String { text }

    /// Byte for byte.
    public static func == (left: CacheKey, right: CacheKey) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    /// Byte for byte.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    // MARK: - Derived keys

    /// The key of what a transformer, or a thumbnail, made of this key's picture.
    ///
    /// A hyphen and `suffix` go before the extension of the URL's path, which is escaped anew; without an extension they go
    /// to the very end, after the query, as they are. A file URL and what is no URL are treated as a plain path.
    ///
    /// - Parameter suffix: a transformer's key, or `Thumbnail({W,H},P)`; a thumbnail's comes before a transformer's.
    /// - Returns: nil when the parts put together again are no URL; such a picture is not cached.
    public func appending(_ suffix: String) -> CacheKey? {
        let key = Array(text.utf8)
        let url = KeyURL(key)
        let suffixed = [UInt8(ascii: "-")] + suffix.utf8
        guard let name = url.map(\.pathExtension) ?? PathString.pathExtension(of: key), !name.isEmpty else {
            return CacheKey(text + "-" + suffix)
        }
        func inserted(into path: [UInt8]) -> [UInt8] {
            PathString.appendingExtension(name, to: PathString.deletingExtension(path) + suffixed)
        }
        guard let url, !url.isFile, let path = url.decodedPath else {
            return CacheKey(String(decoding: inserted(into: key), as: UTF8.self))
        }
        return url.replacingPath(inserted(into: path)).map { CacheKey(String(decoding: $0, as: UTF8.self)) }
    }

    // MARK: - File name

    /// The name of the key's file: the MD5 of its bytes up to the first NUL, and the extension of its path, if any.
    ///
    /// An extension longer than 222 UTF-16 units is left out, as is one (unlike in SDWebImage) with which the name would
    /// exceed the 255 bytes that Linux file systems allow. The name holds no slash.
    public var fileName: String {
        let digest = GLibText.md5(of: text.utf8.prefix { $0 != 0 }).string
        let kept = fileExtension
        return kept.isEmpty ? digest : digest + "." + kept
    }

    private var fileExtension: String {
        let key = Array(text.utf8)
        let found = KeyURL(key)?.pathExtension ?? PathString.pathExtension(of: key)
        let kept = String(decoding: found.filter { $0 != 0 && $0 != UInt8(ascii: ":") }, as: UTF8.self)
        return kept.utf16.count <= 222 && 32 + 1 + kept.utf8.count <= 255 ? kept : ""
    }

    // MARK: - Scale

    /// How many pixels a point has in the picture: 2 or 3 if the key says `@2x.` or `@3x.`, else 1.
    ///
    /// In a key that starts with `http://` or `https://` the escaped `%402x.` counts too. Transformers measure in points.
    public var scaleFactor: Int {
        guard text.utf16.count >= 8 else { return 1 }
        let isWeb = text.utf8.starts(with: "http://".utf8) || text.utf8.starts(with: "https://".utf8)
        for factor in [2, 3] {
            if holds("@\(factor)x.") || (isWeb && holds("%40\(factor)x.")) { return factor }
        }
        return 1
    }

    private func holds(_ part: String) -> Bool {
        let key = Array(text.utf8)
        let part = Array(part.utf8)
        return key.indices.contains { key[$0...].starts(with: part) }
    }
}
