public import ImageModel

/// Maps cache keys to file names, as one image library does. No function accesses a file.
public protocol CacheNaming: Sendable {
    /// The name in options and settings: `sdwebimage`.
    var name: String { get }

    /// The directory of a namespace, relative to the cache root.
    func directory(of namespace: String) -> String

    /// The file names under which the image of `key` may exist. New files get the first one; the others are from
    /// earlier versions of the library. Each is one path component of at most 255 bytes, or a relative path where
    /// `mayShareNames` is true.
    func fileNames(of key: CacheKey) -> [String]

    /// Whether `name` can be the name of an image file.
    func isFileName(_ name: String) -> Bool

    /// The texts that the key of a variant has in addition to the original's: of its thumbnail and its transformers, in
    /// the order in which they are applied.
    ///
    /// - Throws: `VariantError`, with the path within the variant, when the library makes no such image.
    func suffixes(of variant: Variant) throws(VariantError) -> [String]

    /// The key of a variant.
    ///
    /// - Parameters:
    ///   - original: the key of the original.
    ///   - suffixes: the keys of its thumbnail and transformers, in the order in which they are applied.
    /// - Returns: nil when the variant has no key and is therefore not cached.
    func variantKey(of original: CacheKey, suffixes: [String]) -> CacheKey?

    /// The pixels per point of the image of `key`.
    func scaleFactor(of key: CacheKey) -> Int

    /// The modification date that files must have for the library to read them; nil when it does not matter.
    var modificationDate: Timestamp? { get }

    /// Whether two keys can have one file name. A directory store then records the key of each file and refuses another
    /// one; other stores cannot be used.
    var mayShareNames: Bool { get }
}

extension CacheNaming {
    /// The name that a new file for `key` gets.
    public func fileName(of key: CacheKey) -> String { fileNames(of: key)[0] }

    /// The key of a variant; nil when it has none.
    ///
    /// - Throws: `VariantError` as `suffixes(of:)`.
    public func key(of variant: Variant, from original: CacheKey) throws(VariantError) -> CacheKey? {
        variantKey(of: original, suffixes: try suffixes(of: variant))
    }

    /// 1: keys do not say a scale.
    public func scaleFactor(of key: CacheKey) -> Int { 1 }

    /// Nil: dates do not matter.
    public var modificationDate: Timestamp? { nil }

    /// False: a name has one key.
    public var mayShareNames: Bool { false }
}

extension CacheNaming where Self == SDWebImageNaming {
    /// SDWebImage's names, the default.
    public static var sdWebImage: SDWebImageNaming { SDWebImageNaming() }
}

/// The namings that can be selected by name.
package enum CacheNamings {
    /// The default first.
    package static let all: [any CacheNaming] = [SDWebImageNaming(), KingfisherNaming(), NukeNaming()]

    /// The naming called `name`; nil when there is none.
    package static func named(_ name: String) -> (any CacheNaming)? { all.first { $0.name == name } }

    /// The directories of every naming's namespace `default`.
    static var directories: [String] { all.map { $0.directory(of: "default") } + [TemplateNaming.defaultDirectory] }
}
