/// The paths in a bundle: a read-only cache with a manifest.
public enum BundleLayout {
    /// The manifest, in the root.
    public static let manifest = "manifest.jsonl"
    /// The directory of the images.
    static let directory = "default"
}
