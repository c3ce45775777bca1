/// The text that identifies an image in a cache.
///
/// Compared byte by byte, unlike `String`: case, escapes and Unicode forms are significant. Source: SDWebImage 5.21.5,
/// `SDTransformedKeyForKey` and `SDImageScaleFactorForKey`.
public struct CacheKey: Hashable, Sendable, CustomStringConvertible {
    /// As given, not normalised. An original's key is its URL.
    public let text: String

    /// - Parameter text: any text.
    public init(_ text: String) { self.text = text }

    /// The text.
    public var description: String { text }

    /// Byte by byte.
    public static func == (left: CacheKey, right: CacheKey) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    /// Byte by byte.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// The key of the image that a transformer or thumbnail makes from this key's image, by SDWebImage's rule.
    ///
    /// Inserts a hyphen and `suffix` before the extension of the URL's path, which is escaped again. Without an
    /// extension they are appended to the key unescaped, after the query. File URLs and keys that are not URLs are
    /// treated as paths.
    ///
    /// - Parameters:
    ///   - suffix: a transformer's key, or `Thumbnail({W,H},P)`; thumbnails precede transformers.
    ///   - rules: the rules of the app's system.
    /// - Returns: nil if the result is not a URL; such an image is not cached.
    public func appending(_ suffix: String, rules: URLRules = .ios17) -> CacheKey? {
        let key = Array(text.utf8)
        let url = KeyURL(key, rules: rules)
        let suffixed = [UInt8(ascii: "-")] + suffix.utf8
        guard let name = url.map(\.pathExtension) ?? PathString.pathExtension(of: key), !name.isEmpty else {
            return CacheKey(text + "-" + suffix)
        }
        func inserted(into path: [UInt8]) -> [UInt8] {
            PathString.appendingExtension(name, to: PathString.deletingExtension(path) + suffixed)
        }
        guard let url, !url.isFile else {
            return CacheKey(String(decoding: inserted(into: key), as: UTF8.self))
        }
        return url.replacingPath(inserted(into:)).map { CacheKey(String(decoding: $0, as: UTF8.self)) }
    }

    /// The image's pixels per point: 2 or 3 if the key contains `@2x.` or `@3x.`, else 1. Transformers use points.
    ///
    /// In keys that start with `http://` or `https://`, the escaped form `%402x.` counts too.
    public var scaleFactor: Int {
        guard text.utf16.count >= 8 else { return 1 }
        let isWeb = text.utf8.starts(with: "http://".utf8) || text.utf8.starts(with: "https://".utf8)
        for factor in [2, 3] {
            if contains("@\(factor)x.") || (isWeb && contains("%40\(factor)x.")) { return factor }
        }
        return 1
    }

    private func contains(_ part: String) -> Bool {
        let key = Array(text.utf8)
        let part = Array(part.utf8)
        return key.indices.contains { key[$0...].starts(with: part) }
    }
}
