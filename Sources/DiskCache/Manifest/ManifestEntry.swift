import FoundationEssentials

/// One line of a manifest: a file of a cache, and what it must be.
///
/// A manifest is a text of such objects in JSON, one a line.
public struct ManifestEntry: Hashable, Sendable, Codable {
    /// The cache key.
    public var key: String
    /// The file's name, which follows from the key.
    public var file: String
    /// Its length.
    public var bytes: Int
    /// Its SHA-256 as 64 lower-case hexadecimal digits.
    public var sha256: String
    /// `jpeg`, `png`, …, where known.
    public var format: String?
    /// The picture's width in pixels, where known.
    public var width: Int?
    /// The picture's height in pixels, where known.
    public var height: Int?
    /// A small stand-in to show until the picture is there, where one was made.
    public var placeholder: String?

    /// Describes a file.
    public init(
        key: CacheKey, bytes: Int, sha256: String, format: String? = nil, width: Int? = nil, height: Int? = nil,
        placeholder: String? = nil
    ) {
        self.key = key.text
        file = key.fileName
        self.bytes = bytes
        self.sha256 = sha256
        self.format = format
        self.width = width
        self.height = height
        self.placeholder = placeholder
    }

    /// Reads one line.
    ///
    /// - Throws: `StoreError.damaged`, naming `source`, when it is no such object, or names a file that is none of a cache.
    public init(line: [UInt8], of source: String) throws(StoreError) {
        do {
            self = try JSONDecoder().decode(ManifestEntry.self, from: Data(line))
        } catch {
            throw StoreError(.damaged, "understand a line of the manifest", source)
        }
        // What a key's name is made of can lead nowhere else.
        guard Array(CacheKey(key).fileName.utf8) == Array(file.utf8) else {
            throw StoreError(.damaged, "find the name of key '\(key)' right in the manifest", source)
        }
    }

    /// The line, without its end: fields in a fixed order, so that the same file always gives the same line.
    public var line: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data = (try? encoder.encode(self)) ?? Data()
        return String(decoding: data, as: UTF8.self)
    }
}

/// What is wrong with a file of a cache.
public enum FileFault: String, Sendable, Codable, CaseIterable {
    /// It is not there.
    case missing
    /// It is empty.
    case empty
    /// It has another length than the manifest says.
    case length
    /// It has other bytes than the manifest says.
    case digest
    /// It has a name that no key has.
    case name
    /// It cannot be read.
    case unreadable
    /// It is no picture, or a broken one.
    case undecodable
}

extension ManifestEntry {
    /// Whether the cache's file is what this entry says; nil when it is. Blocks.
    ///
    /// - Throws: `StoreError` when that cannot be found out.
    public func fault(in layout: CacheLayout) throws(StoreError) -> FileFault? {
        try layout.fault(of: file, bytes: bytes, sha256: sha256)
    }
}

extension CacheLayout {
    /// Whether a file is not what it must be; nil when it is.
    func fault(of name: String, bytes: Int, sha256: String) throws(StoreError) -> FileFault? {
        guard let file = try peek(name) else { return .missing }
        guard file.size == bytes else { return .length }
        return try file.sha256() == sha256 ? nil : .digest
    }
}

extension CacheEntry {
    /// Whether its name is one that a key can have: 32 lower-case hexadecimal digits, and perhaps an extension.
    public var hasRegularName: Bool {
        let name = Array(path.utf8)
        let digits = name.prefix(32)
        let isDigest =
            digits.count == 32
            && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (97...102).contains($0) }
        return isDigest && (name.count == 32 || (name.count > 33 && name[32] == UInt8(ascii: ".")))
            && !name.contains(UInt8(ascii: "/"))
    }
}
