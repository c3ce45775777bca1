import FoundationEssentials

/// A line of a manifest, a JSON object: a cache file and its expected contents.
package struct ManifestEntry: Hashable, Sendable, Codable {
    package var key: String
    /// Derived from the key.
    package var file: String
    package var bytes: Int
    /// 64 lower-case hexadecimal digits.
    package var sha256: String
    /// `jpeg`, `png`, …; nil if unknown.
    package var format: String?
    /// In pixels; nil if unknown.
    package var width: Int?
    /// In pixels; nil if unknown.
    package var height: Int?
    /// A ThumbHash to show while the image loads; nil if none was computed.
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
    /// - Parameter source: the manifest's name, for errors.
    /// - Throws: `StoreError.damaged` for an invalid object, or a file name that does not match the key.
    package init(line: [UInt8], of source: String, naming: any CacheNaming = .sdWebImage) throws(StoreError) {
        do {
            self = try JSONDecoder().decode(ManifestEntry.self, from: Data(line))
        } catch {
            throw StoreError(.damaged, "parse a line of the manifest", source)
        }
        // A name derived from a key cannot leave the directory.
        guard naming.fileName(of: CacheKey(key)).utf8.elementsEqual(file.utf8) else {
            throw StoreError(.damaged, "match the file name with key '\(key)' in the manifest", source)
        }
    }

    /// The line without newline; equal entries have equal lines.
    package var line: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data = (try? encoder.encode(self)) ?? Data()
        return String(decoding: data, as: UTF8.self)
    }
}

/// The fault of a cache file.
package enum FileFault: String, Sendable, Codable, CaseIterable {
    case missing
    case empty
    /// The size differs from the manifest.
    case length
    /// The contents differ from the manifest, or from the digest that the store recorded.
    case digest
    /// No cache key has this file name.
    case name
    /// The file cannot be read.
    case unreadable
    /// Not an image, or damaged.
    case undecodable

    /// The fault after a failed read: `digest` if the bytes arrived but are not the stored ones, else `unreadable`.
    package init(reading error: any Error) {
        self = (error as? StoreError)?.code == .damaged ? .digest : .unreadable
    }

    /// Whether the contents prove the fault, so that the file is useless. An unreadable file may be intact: the cause
    /// may be a server, permission, full disk or lack of descriptors, which affects every file.
    package var isOfContents: Bool {
        switch self {
        case .empty, .length, .digest, .undecodable: true
        case .missing, .name, .unreadable: false
        }
    }
}

extension ImageStore {
    /// Compares a file with its manifest entry; nil if they match. Blocks.
    ///
    /// - Throws: `StoreError` if the file cannot be read.
    package func fault(of entry: ManifestEntry) throws(StoreError) -> FileFault? {
        try fault(of: entry.file, bytes: entry.bytes, sha256: entry.sha256)
    }

    func fault(of name: String, bytes: Int, sha256: String) throws(StoreError) -> FileFault? {
        guard let file = try peek(named: name) else { return .missing }
        guard file.size == bytes else { return .length }
        return try file.sha256() == sha256 ? nil : .digest
    }
}
