/// Finds files of a cache with the same bytes: lengths first, then digests of those whose length is not theirs alone.
///
/// What is held for a file is less than 100 bytes.
struct EqualFiles {
    private enum Occurrence {
        case once, often
    }

    private var lengths: [Int: Occurrence] = [:]
    private var firsts: [Digest: PackedName] = [:]
    private var names = PackedName.Table()

    /// Enough of a SHA-256 to find a twin by; whether it is one is for whoever uses it to say.
    private struct Digest: Hashable {
        let bits: UInt64

        init(_ sha256: String) { bits = UInt64(sha256.prefix(16), radix: 16) ?? 0 }
    }

    /// The first look: a file of this length was met.
    mutating func meet(length: Int) { lengths[length] = lengths[length] == nil ? .once : .often }

    /// Whether there may be another file with the same bytes.
    func mayHaveTwin(length: Int) -> Bool { lengths[length] == .often }

    /// The second look: the file that was met before and has this digest; nil for the first one.
    mutating func twin(of name: String, sha256: String) -> String? {
        let digest = Digest(sha256)
        if let first = firsts[digest] { return names.text(first) }
        firsts[digest] = names.compact(name)
        return nil
    }

    /// The earlier file is gone: `name` is the first one now.
    mutating func replaceFirst(by name: String, sha256: String) {
        if let gone = firsts.updateValue(names.compact(name), forKey: Digest(sha256)) { names.release(gone) }
    }
}
