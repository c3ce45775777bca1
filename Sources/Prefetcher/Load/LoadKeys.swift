package import DiskCache
internal import Transcoder

/// The cache keys of one load: where the original and each variant belong (spec sections 4 and 5 of SDWebImage 5.21.5).
struct LoadKeys: Sendable {
    /// A variant and its key; nil when SDWebImage's rules make no key for it.
    struct Entry: Sendable {
        let variant: Variant
        let key: CacheKey?
    }

    let original: CacheKey
    let variants: [Entry]

    init(_ request: LoadRequest) {
        let original = CacheKey(request.url)
        self.original = original
        variants = request.variants.map { Entry(variant: $0, key: original.appending($0.keySuffixes)) }
    }
}

extension CacheKey {
    /// The key after several suffixes, one upon the other; nil when one of them makes none.
    package func appending(_ suffixes: [String]) -> CacheKey? {
        suffixes.reduce(self as CacheKey?) { key, suffix in key?.appending(suffix) }
    }
}
