import FoundationEssentials

/// One line of a manifest: a file of a cache and its expected contents. A manifest has one JSON object per line.
package struct ManifestEntry: Hashable, Sendable, Codable {
    /// The cache key.
    package var key: String
    /// The file name, which follows from the key.
    package var file: String
    /// The size in bytes.
    package var bytes: Int
    /// 64 lower-case hexadecimal digits.
    package var sha256: String
    /// `jpeg`, `png`, …; nil when unknown.
    package var format: String?
    /// In pixels; nil when unknown.
    package var width: Int?
    /// In pixels; nil when unknown.
    package var height: Int?
    /// A ThumbHash to show while the image loads; nil when none was computed.
    package var placeholder: String?

    /// - Parameter naming: SDWebImage's by default.
    package init(
        key: CacheKey, naming: any CacheNaming = .sdWebImage, bytes: Int, sha256: String, format: String? = nil,
        width: Int? = nil, height: Int? = nil, placeholder: String? = nil
    ) {
        self.key = key.text
        file = naming.fileName(of: key)
        self.bytes = bytes
        self.sha256 = sha256
        self.format = format
        self.width = width
        self.height = height
        self.placeholder = placeholder
    }

    /// Parses a line.
    ///
    /// - Parameter source: the name of the manifest, for errors.
    /// - Throws: `StoreError.damaged` when it is not such an object, or its file name does not follow from its key.
    package init(line: [UInt8], of source: String, naming: any CacheNaming = .sdWebImage) throws(StoreError) {
        do {
            self = try JSONDecoder().decode(ManifestEntry.self, from: Data(line))
        } catch {
            throw StoreError(.damaged, "parse a line of the manifest", source)
        }
        // A name that follows from a key cannot leave the directory.
        guard naming.fileName(of: CacheKey(key)).utf8.elementsEqual(file.utf8) else {
            throw StoreError(.damaged, "match the file name with key '\(key)' in the manifest", source)
        }
    }

    /// The line without its newline; equal entries have equal lines.
    package var line: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data = (try? encoder.encode(self)) ?? Data()
        return String(decoding: data, as: UTF8.self)
    }
}

/// What is wrong with a file of a cache.
package enum FileFault: String, Sendable, Codable, CaseIterable {
    /// The file does not exist.
    case missing
    /// The file is empty.
    case empty
    /// The size differs from the manifest.
    case length
    /// The contents differ from the manifest, or from the digest that the store recorded with them.
    case digest
    /// No cache key has this file name.
    case name
    /// The file cannot be read.
    case unreadable
    /// The file is not an image, or a damaged one.
    case undecodable

    /// The fault of a file for which a read failed: `digest` where the bytes arrived and are not those that were
    /// stored, else `unreadable`.
    package init(reading error: any Error) {
        self = (error as? StoreError)?.code == .damaged ? .digest : .unreadable
    }

    /// Whether the contents prove the fault, so that the file is of no use. An unreadable file may be whole: a server, a
    /// permission, a full disk or a lack of descriptors may be the cause, and then every file is unreadable.
    package var isOfContents: Bool {
        switch self {
        case .empty, .length, .digest, .undecodable: true
        case .missing, .name, .unreadable: false
        }
    }
}

extension ImageStore {
    /// Compares a file with a manifest entry; nil when they match. Blocks.
    ///
    /// - Throws: `StoreError` when the file cannot be read.
    package func fault(of entry: ManifestEntry) throws(StoreError) -> FileFault? {
        try fault(of: entry.file, bytes: entry.bytes, sha256: entry.sha256)
    }

    func fault(of name: String, bytes: Int, sha256: String) throws(StoreError) -> FileFault? {
        guard let file = try peek(named: name) else { return .missing }
        guard file.size == bytes else { return .length }
        return try file.sha256() == sha256 ? nil : .digest
    }
}
