/// The paths in a bundle: a read-only cache with a manifest.
public enum BundleLayout {
    /// The manifest, in the root.
    public static let manifest = "manifest.jsonl"
    static let directory = "default"
}
