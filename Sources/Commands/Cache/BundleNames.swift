import DiskCache
import ImageModel
import JobQueue

/// Renames a batch's files for a bundle with another naming than the cache's: derives keys again from the job's
/// pipeline.
struct BundleNames {
    /// The cache's file for each renamed file.
    private(set) var sources: [String: String] = [:]
    private let queue: PostgresJobQueue
    private let naming: any CacheNaming
    private var pipelines: [Int: Pipeline] = [:]
    /// The renamed files' directories, if names are paths.
    private var directories: Set<String> = []

    init(_ naming: any CacheNaming, _ queue: PostgresJobQueue) {
        self.naming = naming
        self.queue = queue
    }

    /// The entry in the bundle.
    ///
    /// - Throws: `VariantError` if the naming has no key for the variant, or already gave the name to another file, for
    ///   example because its keys ignore format and quality.
    mutating func rename(
        _ entry: ManifestEntry, of file: StoredFile, in record: StoredRecord
    ) async throws -> ManifestEntry {
        var renamed = ManifestEntry(
            key: try await key(of: file, in: record), naming: naming, bytes: entry.bytes, sha256: entry.sha256,
            format: entry.format, width: entry.width, height: entry.height)
        renamed.placeholder = entry.placeholder
        if let first = sources[renamed.file], !first.utf8.elementsEqual(entry.file.utf8) {
            throw VariantError(
                path: "$", message: "has the file name of another image, \(renamed.file); give it a keySuffix")
        }
        try claimDirectories(of: renamed.file)
        sources[renamed.file] = entry.file
        return renamed
    }

    /// - Throws: `VariantError` if a file would have a directory's path.
    private mutating func claimDirectories(of file: String) throws(VariantError) {
        var parents: [String] = []
        for index in file.indices where file[index] == "/" { parents.append(String(file[..<index])) }
        guard !directories.contains(file), !parents.contains(where: { sources[$0] != nil }) else {
            throw VariantError(path: "$", message: "has the path of another image's directory, \(file)")
        }
        directories.formUnion(parents)
    }

    private mutating func key(of file: StoredFile, in record: StoredRecord) async throws -> CacheKey {
        guard let name = file.name else { return CacheKey(file.key) }
        guard let pipeline = try await pipeline(record.pipeline),
            let variant = pipeline.variants.first(where: { $0.name.utf8.elementsEqual(name.utf8) })
        else { throw VariantError(path: "$", message: "is not in the job's pipeline") }
        let stored = record.stored.first { $0.name == nil }?.key
        let original = CacheKey(stored ?? pipeline.cacheKey?.key(of: record.url) ?? record.url)
        guard let key = try naming.key(of: variant, from: original) else {
            throw VariantError(path: "$", message: "has no cache key")
        }
        return key
    }

    private mutating func pipeline(_ id: Int?) async throws -> Pipeline? {
        guard let id else { return nil }
        if let known = pipelines[id] { return known }
        let read = try Pipeline(json: try await queue.workers.pipeline(id: id).spec.utf8)
        pipelines[id] = read
        return read
    }
}
