/// The paths in a bundle: a read-only cache with a manifest.
package enum BundleLayout {
    /// The manifest, in the root.
    package static let manifest = "manifest.jsonl"

    /// The directory of the images, as in the library's shared cache, so that the bundle's root can be a cache root.
    static func directory(_ naming: any CacheNaming) -> String { naming.directory(of: "default") }
}
