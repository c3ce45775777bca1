/// Maps cache keys to file names, as one image library does. No function accesses a file.
public protocol CacheNaming: Sendable {
    /// The directory of a namespace, relative to the cache root.
    func directory(of namespace: String) -> String

    /// The file names under which the image of `key` may exist. New files get the first one; the others are those of
    /// earlier versions of the library. Each is one path component of at most 255 bytes.
    func fileNames(of key: CacheKey) -> [String]

    /// Whether `name` can be the name of an image file.
    func isFileName(_ name: String) -> Bool

    /// The key of a variant.
    ///
    /// - Parameter suffixes: the keys of its thumbnail and transformers, in the order in which they are applied.
    /// - Returns: nil when the variant has no key and is therefore not cached.
    func variantKey(of original: CacheKey, suffixes: [String]) -> CacheKey?
}

extension CacheNaming {
    /// The name that a new file for `key` gets.
    public func fileName(of key: CacheKey) -> String { fileNames(of: key)[0] }
}

extension CacheNaming where Self == SDWebImageNaming {
    /// SDWebImage's names, the default.
    public static var sdWebImage: SDWebImageNaming { SDWebImageNaming() }
}
