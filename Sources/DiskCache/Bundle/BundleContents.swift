/// What a bundle's manifest says of its files: read line by line, and held in less than 200 bytes a file, and each different
/// ending of their names once.
///
/// Keys are not held: the file's name, which follows from the key, is all that a store takes.
struct BundleContents {
    /// What a file must be.
    struct Wanted: Equatable {
        let name: String
        let bytes: Int
        let sha256: String
    }

    /// A longer manifest is refused. Of 512 MiB in lines of the usual 250 bytes, which are two million, less than 400 MiB are
    /// held; of the shortest possible lines, which are 3.6 million, less than 700 MiB.
    static let longestManifest = 1 << 29
    /// A longer line is refused.
    static let longestLine = 1 << 20

    private struct Held {
        let bytes: Int
        let digest: (UInt64, UInt64, UInt64, UInt64)
    }

    private let source: String
    private let longest: (manifest: Int, line: Int)
    private var names = PackedName.Table()
    private var files: [PackedName: Held] = [:]
    private var line: [UInt8] = []
    private var length = 0

    /// Nothing yet, of the manifest that is called `source` in errors.
    init(
        of source: String, longestManifest: Int = BundleContents.longestManifest,
        longestLine: Int = BundleContents.longestLine
    ) {
        self.source = source
        longest = (longestManifest, longestLine)
    }

    /// How many files it names, without those that were taken.
    var count: Int { files.count }

    /// The next bytes of the manifest.
    ///
    /// - Throws: `StoreError`, `damaged` when a line is none of a manifest, `tooLarge` when it or the whole is too long.
    mutating func add(_ bytes: ArraySlice<UInt8>) throws(StoreError) {
        length += bytes.count
        guard length <= longest.manifest else {
            throw StoreError(.tooLarge, "read more than \(longest.manifest) bytes of the manifest", source)
        }
        var rest = bytes
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            try extend(rest[..<end])
            try endLine()
            rest = rest[(end + 1)...]
        }
        try extend(rest)
    }

    /// The manifest is at its end.
    mutating func finish() throws(StoreError) { try endLine() }

    /// Whether it names the file, and that was not taken.
    func names(_ file: String) -> Bool { names.find(file).map { files[$0] != nil } ?? false }

    /// What the file must be; it is then named no longer. Nil when it is not named.
    mutating func take(_ file: String) -> Wanted? {
        guard let name = names.find(file), let held = files.removeValue(forKey: name) else {
            return nil
        }
        names.release(name)
        return wanted(file, held)
    }

    /// Hands on all files that were not taken, in no order.
    func each(_ body: (Wanted) throws(StoreError) -> Void) throws(StoreError) {
        for (name, held) in files { try body(wanted(names.text(name), held)) }
    }

    // MARK: -

    private func wanted(_ file: String, _ held: Held) -> Wanted {
        let words = [held.digest.0, held.digest.1, held.digest.2, held.digest.3]
        return Wanted(name: file, bytes: held.bytes, sha256: words.map(Self.hexadecimal).joined())
    }

    private mutating func extend(_ bytes: ArraySlice<UInt8>) throws(StoreError) {
        guard line.count + bytes.count <= longest.line else {
            throw StoreError(.tooLarge, "read a line of more than \(longest.line) bytes in the manifest", source)
        }
        line += bytes
    }

    private mutating func endLine() throws(StoreError) {
        guard !line.isEmpty else { return }
        let entry = try ManifestEntry(line: line, of: source)
        line.removeAll(keepingCapacity: true)
        let digits = Array(entry.sha256.utf8)
        let words = stride(from: 0, to: digits.count, by: 16).compactMap { Self.word(digits[$0...].prefix(16)) }
        guard digits.count == 64, words.count == 4 else {
            throw StoreError(.damaged, "find a SHA-256 of '\(entry.file)' in the manifest", source)
        }
        let name = names.compact(entry.file)
        let held = Held(bytes: entry.bytes, digest: (words[0], words[1], words[2], words[3]))
        // The last line of a file counts.
        if files.updateValue(held, forKey: name) != nil { names.release(name) }
    }

    private static func word(_ digits: ArraySlice<UInt8>) -> UInt64? {
        UInt64(String(decoding: digits, as: UTF8.self), radix: 16)
    }

    private static func hexadecimal(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
