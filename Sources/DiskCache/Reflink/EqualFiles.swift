/// Finds files with the same contents: by size, then by the SHA-256 of files whose size is not unique. Holds less than
/// 100 bytes per file.
struct EqualFiles {
    private var sizes: [Int: Bool] = [:]
    private var firsts: [UInt64: PackedName] = [:]
    private var names = PackedName.Table()

    /// First pass: adds the size of a file.
    mutating func add(size: Int) { sizes[size] = sizes[size] != nil }

    /// Whether several files have this size.
    func isRepeated(size: Int) -> Bool { sizes[size] == true }

    /// Second pass: the first file with this digest; nil for that file itself.
    ///
    /// Compares 64 bits of the digest: the caller must compare the contents.
    mutating func first(equalTo name: String, sha256: String) -> String? {
        let digest = Self.prefix(sha256)
        if let first = firsts[digest] { return names.text(first) }
        firsts[digest] = names.pack(name)
        return nil
    }

    /// Replaces the first file with this digest, which no longer exists.
    mutating func replaceFirst(by name: String, sha256: String) {
        if let old = firsts.updateValue(names.pack(name), forKey: Self.prefix(sha256)) { names.release(old) }
    }

    private static func prefix(_ sha256: String) -> UInt64 { UInt64(sha256.prefix(16), radix: 16) ?? 0 }
}
