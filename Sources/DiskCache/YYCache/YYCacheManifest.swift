private import CSQLite
import Glibc

/// A YYCache's database. Source: YYCache 1.0.4, `YYKVStorage`, `_dbInitialize` and `_dbSaveWithKey:`.
struct YYCacheManifest: ~Copyable {
    private static let schema = """
        create table manifest (key text, filename text, size integer, inline_data blob, modification_time integer, \
        last_access_time integer, extended_data blob, primary key(key));
        create index last_access_time_idx on manifest(last_access_time);
        begin;
        """
    private static let insertion = """
        insert into manifest (key, filename, size, inline_data, modification_time, last_access_time) \
        values (?1, ?2, ?3, ?4, ?5, ?5)
        """

    private let path: String
    private let database: OpaquePointer

    init(_ path: String) throws(StoreError) {
        var database: OpaquePointer?
        var result = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
        if result == SQLITE_OK { result = sqlite3_exec(database, Self.schema, nil, nil, nil) }
        guard result == SQLITE_OK, let database else {
            let failure = Self.failure(result, database, path)
            sqlite3_close_v2(database)
            throw failure
        }
        self.path = path
        self.database = database
    }

    deinit { sqlite3_close_v2(database) }

    /// Adds an image.
    ///
    /// - Parameters:
    ///   - file: its name in `data`; empty for an inline image.
    ///   - inline: its bytes; nil for an image in a file.
    func add(_ key: String, file: String, size: Int, inline: [UInt8]?, date: Timestamp) throws(StoreError) {
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(database, Self.insertion, -1, &statement, nil))
        defer { sqlite3_finalize(statement) }
        try check(sqlite3_bind_int64(statement, 3, Int64(size)))
        try check(sqlite3_bind_int64(statement, 5, Int64(date.seconds)))
        // SQLite reads the three buffers until the statement is finished.
        let result = key.withCString { key in
            file.withCString { file in
                (inline ?? []).withUnsafeBytes { bytes in
                    sqlite3_bind_text(statement, 1, key, -1, nil)
                    // YYKVStorage writes NULL for an inline image's name.
                    if inline == nil { sqlite3_bind_text(statement, 2, file, -1, nil) }
                    if inline != nil { sqlite3_bind_blob(statement, 4, bytes.baseAddress, Int32(bytes.count), nil) }
                    return sqlite3_step(statement)
                }
            }
        }
        guard result == SQLITE_DONE else { throw Self.failure(result, database, path) }
    }

    func finish() throws(StoreError) { try check(sqlite3_exec(database, "commit", nil, nil, nil)) }

    private func check(_ result: Int32) throws(StoreError) {
        guard result == SQLITE_OK else { throw Self.failure(result, database, path) }
    }

    private static func failure(_ result: Int32, _ database: OpaquePointer?, _ path: String) -> StoreError {
        let number = database.map(sqlite3_system_errno) ?? 0
        if number != 0 { return StoreError("pwrite", path, number: number) }
        let code: StoreError.Code = result == SQLITE_FULL ? .diskFull : .inputOutput
        return StoreError(code, "write", path, cause: String(cString: sqlite3_errstr(result)))
    }
}

/// Writes a YYCache directory, as read by YYWebImage's `YYImageCache`: small images in a database, others in files. It
/// appears once complete; `deinit` deletes it unless `finish` was called. Blocks.
///
/// Source: YYCache 1.0.4, `YYDiskCache` and `YYKVStorage`; YYWebImage 1.0.5, `YYImageCache`.
package struct YYCacheWriter: ~Copyable {
    /// Larger images become files; in bytes. `YYDiskCache.initWithPath:`.
    package static let inlineLimit = 20 * 1_024
    static let directories = ["data", "trash"]
    static let files = ["manifest.sqlite", "manifest.sqlite-journal"]

    private let directory: BundleDirectoryWriter
    private let manifest: YYCacheManifest
    private let date = Timestamp.now

    /// - Throws: `StoreError`, `exists` if `path` exists.
    package init(_ path: String) throws(StoreError) {
        let directory = try BundleDirectoryWriter(path, directory: Self.directories[0])
        try Directory.create(directory.path + "/" + Self.directories[1], durable: false, FilePermissions())
        let manifest = try YYCacheManifest(directory.path + "/" + Self.files[0])
        self.directory = directory
        self.manifest = manifest
    }

    /// Adds the bytes of `file` under `key`, which must be new.
    package func add(_ file: OpenFile, as key: CacheKey) throws(StoreError) {
        guard file.size > Self.inlineLimit else {
            let bytes = try file.bytes(file.size)
            return try manifest.add(key.text, file: "", size: bytes.count, inline: bytes, date: date)
        }
        let name = GLibText.md5(of: key.text.utf8)
        try directory.add("\(Self.directories[0])/\(name)", size: file.size, date: date) { (write) throws(StoreError) in
            try file.forEachBlock(write)
        }
        try manifest.add(key.text, file: name, size: file.size, inline: nil, date: date)
    }

    /// Commits the database and renames the directory.
    package func finish() throws(StoreError) {
        try manifest.finish()
        try directory.finish()
    }
}
