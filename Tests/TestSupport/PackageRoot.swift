/// Where the sources of this package lie, from which tests find their material.
public enum PackageRoot {
    /// Three levels above this file: Tests/TestSupport/PackageRoot.swift.
    public static let path: String = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
}
