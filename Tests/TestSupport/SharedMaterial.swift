import Foundation

/// The project's shared material, which is not part of the package: specifications, vectors and images.
public enum SharedMaterial {
    /// LARDER_SHARED, else `shared` next to the package root; nil where neither is a directory, and then one line says
    /// so.
    public static let path: String? = {
        let sibling = URL(filePath: PackageRoot.path).deletingLastPathComponent().appending(path: "shared").path
        let candidate = ProcessInfo.processInfo.environment["LARDER_SHARED"] ?? sibling
        var isDirectory: ObjCBool = false
        if FileManager.default.fileExists(atPath: candidate, isDirectory: &isDirectory), isDirectory.boolValue {
            return candidate
        }
        print("note: no shared material (LARDER_SHARED, or ../shared): the tests that use it do not run")
        return nil
    }()

    /// True where the material is; for `.enabled(if:)`.
    public static var isPresent: Bool { path != nil }

    /// The path of a file of the material, which may be missing; nil without the material.
    public static func file(_ name: String) -> String? { path.map { "\($0)/\(name)" } }
}
