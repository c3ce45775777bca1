import Glibc
private import ImageModel

/// The attribute that records a file's key if two keys can share a name.
let keyAttribute = "larder.key"

/// The record of a key: its text, or its SHA-256 if ext4 may have no room for the text.
enum KeyRecord {
    static func bytes(of key: CacheKey) -> [UInt8] {
        let text = Array(key.text.utf8)
        return text.count <= 1_000 ? text : Array("sha256:\(SHA256Digest.hex(of: text))".utf8)
    }

    /// The recorded image for messages, without its URL's user and query, which may be secrets.
    static func shown(_ record: [UInt8]) -> String {
        let parts = record.split(separator: 0x1F, maxSplits: 2).map { String(decoding: $0, as: UTF8.self) }
        guard let url = parts.first else { return "an image of an unknown key" }
        let path = url.prefix { $0 != "?" && $0 != "#" }
        let hidden = path.count < url.count ? "?…" : ""
        let host = path.firstRange(of: "://").map { scheme in
            let rest = path[scheme.upperBound...]
            let end = rest.firstIndex(of: "/") ?? rest.endIndex
            let start = rest[..<end].lastIndex(of: "@").map(rest.index(after:)) ?? rest.startIndex
            return String(path[..<scheme.upperBound]) + rest[start...]
        }
        return (parts.count > 1 ? "variant \(parts[1]) of " : "") + (host ?? String(path)) + hidden
    }
}

extension OpenFile {
    /// - Throws: `StoreError`, `nameTaken` if the file has another key or none recorded.
    func check(isOf key: CacheKey) throws(StoreError) { try check(isOf: KeyRecord.bytes(of: key)) }

    fileprivate func check(isOf record: [UInt8]) throws(StoreError) {
        let found = try attribute(keyAttribute)
        guard found != record else { return }
        let holder = found.map { "it has the image of \(KeyRecord.shown($0))" } ?? "it has no record of a key"
        throw StoreError(.nameTaken, "give \(KeyRecord.shown(record)) the path", path, cause: holder)
    }
}

extension DirectoryStore {
    /// Tests whether the file system keeps the records.
    func checkRecords(_ probe: TemporaryFile) throws(StoreError) {
        try probe.setAttribute(keyAttribute, [1])
        guard probe.attribute(keyAttribute) == [1] else {
            throw StoreError(
                .unsupported, "keep images by a template in", layout.directory,
                cause: "its file system has no extended attributes, which record the key of each file")
        }
    }

    /// Calls `body` with a file's path. Another key's file in place of a directory is `nameTaken`: it affects this name
    /// only.
    func reading<Value>(
        _ name: String, _ body: (String) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let path = layout.path(named: name)
        do throws(StoreError) {
            return try body(path)
        } catch {
            throw naming.mayShareNames ? translated(error, path) : error
        }
    }

    /// Gives the file its name and creates the path's directories. Replaces a file of the same key.
    ///
    /// `link` prevents two processes from creating the name. Only if the file is deleted between the two calls can a
    /// replacement hit another key's file.
    ///
    /// - Throws: `StoreError`, `nameTaken` if the name belongs to another key or a directory.
    func claim(_ name: String, for file: TemporaryFile) throws(StoreError) {
        let path = layout.path(named: name)
        guard let record = file.attribute(keyAttribute) else {
            throw StoreError(.nameTaken, "store", path, cause: "no key is recorded with the file")
        }
        if try link(file, to: path) { return }
        guard let existing = try OpenFile(peekingAt: path) else {
            throw StoreError(
                .nameTaken, "give \(KeyRecord.shown(record)) the path", path, cause: "other images are stored below it")
        }
        try existing.check(isOf: record)
        try file.rename(to: path)
    }

    /// Creates missing directories; false if the name exists.
    private func link(_ file: TemporaryFile, to path: String) throws(StoreError) -> Bool {
        var result = Glibc.link(file.path, path)
        if result != 0 && errno == ENOENT {
            do throws(StoreError) {
                try Directory.create(Self.parent(of: path), durable: durability == .full, permissions)
            } catch {
                throw translated(error, path)
            }
            result = Glibc.link(file.path, path)
        }
        if result == 0 {
            file.detach()
        } else if errno != EEXIST {
            throw translated(StoreError("link", path), path)
        }
        return result == 0
    }

    /// The directory of a path that contains a slash.
    static func parent(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }

    private func translated(_ error: StoreError, _ path: String) -> StoreError {
        var status = stat()
        guard error.code == .notADirectory, stat(layout.directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR
        else { return error }
        return StoreError(.nameTaken, "use", path, cause: "another image is stored in place of its directory")
    }
}
