public import ImageModel

/// SDWebImage's file names: the key's MD5 and its path's extension. Versions before 5.0 had no extension.
///
/// Source: SDWebImage 5.21.5, `SDDiskCache` and `SDTransformedKeyForKey`.
public struct SDWebImageNaming: CacheNaming {
    /// `sdwebimage`.
    public let name = "sdwebimage"

    /// The rules of the app's systems.
    public let urlRules: URLRules

    /// The default is iOS 17 to 26.
    public init(urlRules: URLRules = .ios17) { self.urlRules = urlRules }

    /// `namespace` itself.
    public func directory(of namespace: String) -> String { namespace }

    /// The MD5 of the key's bytes up to the first NUL as 32 lower-case hexadecimal digits, with and without the
    /// extension.
    ///
    /// Omits an extension longer than 222 UTF-16 units, and, unlike SDWebImage, one that would exceed Linux's 255 bytes
    /// per name.
    public func fileNames(of key: CacheKey) -> [String] {
        let bytes = Array(key.text.utf8)
        let digest = GLibText.md5(of: bytes.prefix { $0 != 0 })
        let found = KeyURL(bytes, rules: urlRules)?.pathExtension ?? PathString.pathExtension(of: bytes)
        let pathExtension = String(
            decoding: found.filter { $0 != 0 && $0 != UInt8(ascii: ":") }, as: UTF8.self)
        let isShort = pathExtension.utf16.count <= 222 && 32 + 1 + pathExtension.utf8.count <= 255
        return pathExtension.isEmpty || !isShort ? [digest] : [digest + "." + pathExtension, digest]
    }

    /// Whether `name` is 32 lower-case hexadecimal digits, with or without an extension.
    public func isFileName(_ name: String) -> Bool {
        let name = Array(name.utf8)
        let digits = name.prefix(32)
        return digits.count == 32
            && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (97...102).contains($0) }
            && (name.count == 32 || (name.count > 33 && name[32] == UInt8(ascii: ".")))
            && !name.contains(UInt8(ascii: "/"))
    }

    /// Inserts each suffix into `original` in turn, see `CacheKey.appending`.
    public func variantKey(of original: CacheKey, suffixes: [String]) -> CacheKey? {
        suffixes.reduce(original as CacheKey?) { key, suffix in key?.appending(suffix, rules: urlRules) }
    }

    /// `Variant.keySuffixes`.
    public func suffixes(of variant: Variant) -> [String] { variant.keySuffixes }

    /// `CacheKey.scaleFactor`.
    public func scaleFactor(of key: CacheKey) -> Int { key.scaleFactor }
}
