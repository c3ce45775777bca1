private import ImageModel

/// The files of a bundle's manifest, read block by block, in less than 200 bytes per file.
///
/// Keys are not kept: the file name, derived from the key, suffices to store a file.
struct Manifest {
    struct File: Equatable {
        let name: String
        let bytes: Int
        let sha256: String
    }

    /// In bytes. Two million lines of the usual 250 bytes need less than 400 MiB of memory, 3.6 million of the shortest
    /// lines less than 700 MiB.
    static let maxSize = 1 << 29
    /// In bytes.
    static let maxLineLength = 1 << 20

    private struct PackedFile {
        let bytes: Int
        let digest: (UInt64, UInt64, UInt64, UInt64)
    }

    private let source: String
    private let naming: any CacheNaming
    private let maxSize, maxLineLength: Int
    private var names = PackedName.Table()
    private var files: [PackedName: PackedFile] = [:]
    private var line: [UInt8] = []
    private var length = 0

    /// - Parameter source: the manifest's name, for errors.
    init(
        _ source: String, naming: any CacheNaming = .sdWebImage, maxSize: Int = Manifest.maxSize,
        maxLineLength: Int = Manifest.maxLineLength
    ) {
        self.source = source
        self.naming = naming
        self.maxSize = maxSize
        self.maxLineLength = maxLineLength
    }

    /// Files not removed.
    var count: Int { files.count }

    /// Adds the manifest's next bytes.
    ///
    /// - Throws: `StoreError`, `damaged` for an invalid line, `tooLarge` above a limit.
    mutating func add(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        length += bytes.count
        guard length <= maxSize else {
            throw StoreError(.tooLarge, "read more than \(maxSize) bytes of the manifest", source)
        }
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            try extendLine(rest[..<end])
            try finish()
            rest = rest[(end + 1)...]
        }
        try extendLine(rest)
    }

    /// Adds the last line, which may lack a newline.
    mutating func finish() throws(StoreError) {
        guard !line.isEmpty else { return }
        let entry = try ManifestEntry(line: line, of: source, naming: naming)
        line.removeAll(keepingCapacity: true)
        let digits = Array(entry.sha256.utf8)
        let words = stride(from: 0, to: digits.count, by: 16).compactMap {
            UInt64(String(decoding: digits[$0...].prefix(16), as: UTF8.self), radix: 16)
        }
        guard digits.count == 64, words.count == 4 else {
            throw StoreError(.damaged, "parse the SHA-256 of '\(entry.file)' in the manifest", source)
        }
        let name = names.pack(entry.file)
        let file = PackedFile(bytes: entry.bytes, digest: (words[0], words[1], words[2], words[3]))
        // The last line for a file counts.
        if files.updateValue(file, forKey: name) != nil { names.release(name) }
    }

    func contains(_ name: String) -> Bool { names.find(name).map { files[$0] != nil } ?? false }

    /// Removes and returns a file; nil if there is none.
    mutating func remove(_ name: String) -> File? {
        guard let packed = names.find(name), let file = files.removeValue(forKey: packed) else { return nil }
        names.release(packed)
        return unpack(name, file)
    }

    /// Calls `body` with each file not removed, in no order.
    func forEach(_ body: (File) throws(StoreError) -> Void) throws(StoreError) {
        for (name, file) in files { try body(unpack(names.text(name), file)) }
    }

    private func unpack(_ name: String, _ file: PackedFile) -> File {
        let words = [file.digest.0, file.digest.1, file.digest.2, file.digest.3]
        return File(name: name, bytes: file.bytes, sha256: words.map { $0.hexadecimal(digits: 16) }.joined())
    }

    private mutating func extendLine(_ bytes: Slice<UnsafeRawBufferPointer>) throws(StoreError) {
        guard line.count + bytes.count <= maxLineLength else {
            throw StoreError(.tooLarge, "read a line of more than \(maxLineLength) bytes in the manifest", source)
        }
        line += bytes
    }
}
