public import ImageModel

/// Maps cache keys to file names, as one image library does. Accesses no file.
public protocol CacheNaming: Sendable {
    /// The name in options and settings, such as `sdwebimage`.
    var name: String { get }

    /// The directory of a namespace, relative to the cache root.
    func directory(of namespace: String) -> String

    /// The file names under which the image of `key` may exist. New files get the first; the others come from the
    /// library's earlier versions. Each is one path component of up to 255 bytes, or a relative path if `mayShareNames`
    /// is true.
    func fileNames(of key: CacheKey) -> [String]

    /// Whether `name` can be the name of an image file.
    func isFileName(_ name: String) -> Bool

    /// The texts that a variant's key adds to the original's: for its thumbnail and transformers, in order.
    ///
    /// - Throws: `VariantError`, with the path within the variant, if the library makes no such image.
    func suffixes(of variant: Variant) throws(VariantError) -> [String]

    /// A variant's key.
    ///
    /// - Parameters:
    ///   - original: the original's key.
    ///   - suffixes: keys of its thumbnail and transformers, in order.
    /// - Returns: nil if the variant has no key and is therefore not cached.
    func variantKey(of original: CacheKey, suffixes: [String]) -> CacheKey?

    /// The image's pixels per point.
    func scaleFactor(of key: CacheKey) -> Int

    /// The modification date that the library requires; nil if it does not matter.
    var modificationDate: Timestamp? { get }

    /// Whether two keys can share a file name. A directory store then records each file's key and refuses another one;
    /// other stores cannot be used.
    var mayShareNames: Bool { get }
}

extension CacheNaming {
    /// The name of a new file for `key`.
    public func fileName(of key: CacheKey) -> String { fileNames(of: key)[0] }

    /// A variant's key; nil if it has none.
    ///
    /// - Throws: `VariantError` as `suffixes(of:)`.
    public func key(of variant: Variant, from original: CacheKey) throws(VariantError) -> CacheKey? {
        variantKey(of: original, suffixes: try suffixes(of: variant))
    }

    /// 1: keys contain no scale.
    public func scaleFactor(of key: CacheKey) -> Int { 1 }

    /// Nil: dates do not matter.
    public var modificationDate: Timestamp? { nil }

    /// False: each name has one key.
    public var mayShareNames: Bool { false }
}

extension CacheNaming where Self == SDWebImageNaming {
    /// SDWebImage's names, the default.
    public static var sdWebImage: SDWebImageNaming { SDWebImageNaming() }
}

/// Namings that can be selected by name.
package enum CacheNamings {
    /// Default first.
    package static let all: [any CacheNaming] = [SDWebImageNaming(), KingfisherNaming(), NukeNaming()]

    package static func named(_ name: String) -> (any CacheNaming)? { all.first { $0.name == name } }

    /// Each naming's directory for the namespace `default`.
    static var directories: [String] { all.map { $0.directory(of: "default") } + [TemplateNaming.defaultDirectory] }
}
