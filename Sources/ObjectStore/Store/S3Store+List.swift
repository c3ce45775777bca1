private import Concurrency
package import DiskCache
private import Downloader
private import Glibc
private import ImageModel

extension S3Store {
    private static let deletedAtOnce = 1000

    /// Calls `body` with each object of the bucket; `hidden` has no effect, as no objects are hidden.
    package func list(hidden: Bool, _ body: (CacheEntry) throws(StoreError) -> Bool) throws(StoreError) {
        let prefix = listPrefix
        var next: String?
        repeat {
            let token = next
            let page = try call("list", "") { (client) async throws(ObjectStoreError) in
                try await client.list(prefix: prefix, from: token)
            }
            for object in page.objects {
                let entry = CacheEntry(
                    path: String(object.key.dropFirst(prefix.count)), size: object.size,
                    modified: Timestamp(seconds: object.modified))
                guard try body(entry) else { return }
            }
            next = page.next
        } while next != nil
    }

    /// Counts by listing.
    package func count() throws(StoreError) -> Int {
        var count = 0
        try list(hidden: false) { (_) throws(StoreError) in
            count += 1
            return true
        }
        return count
    }

    /// Deletes all objects, 1,000 per request, and all local copies.
    package func clear(isDryRun: Bool, deleted: (CacheEntry) -> Void) throws(StoreError) {
        var batch: [CacheEntry] = []
        try list(hidden: false) { (entry) throws(StoreError) in
            batch.append(entry)
            if batch.count == Self.deletedAtOnce { try delete(&batch, isDryRun: isDryRun, deleted) }
            return true
        }
        try delete(&batch, isDryRun: isDryRun, deleted)
        if !isDryRun { try local.clear() }
    }

    private func delete(
        _ batch: inout [CacheEntry], isDryRun: Bool, _ deleted: (CacheEntry) -> Void
    ) throws(StoreError) {
        let keys = batch.map { key(of: $0.path) }
        if !isDryRun && !keys.isEmpty {
            try call("delete", "") { (client) async throws(ObjectStoreError) in try await client.delete(all: keys) }
        }
        batch.forEach(deleted)
        batch = []
    }

    /// Not offered: the bucket's life-cycle rules delete objects by age, without requests.
    ///
    /// - Throws: `unsupported`.
    package func expire(
        _ policy: ExpiryPolicy, now: Timestamp, isDryRun: Bool, deleted: (ExpiredFile) -> Void,
        progress: (ExpiryReport) -> Bool
    ) throws(StoreError) -> ExpiryReport {
        throw StoreError(
            .unsupported, "expire", "\(client.bucket)", cause: "a life-cycle rule of the bucket deletes old objects")
    }

    /// Whether the latest listing did not contain the object.
    func isCertainlyMissing(_ name: String) -> Bool {
        guard options.holdsNames else { return false }
        if known.withLock({ $0.begins(at: .now) }) { listNames() }
        return known.withLock { $0.lacks(name) }
    }

    /// Lists a small store's names on a separate thread, so that the first lookups need no requests.
    package func listNamesAhead() {
        guard options.holdsNames, known.withLock({ $0.begins(at: .now) }) else { return }
        ThreadPool(name: "names", threads: 1).submit { self.listNames() }
    }

    private func listNames() {
        var names: Set<Int> = []
        var isTooMany = false
        do throws(StoreError) {
            try list(hidden: false) { (entry) throws(StoreError) in
                isTooMany = names.count == KnownNames.limit
                if !isTooMany { names.insert(KnownNames.hash(entry.path)) }
                return !isTooMany
            }
            let found = names
            known.withLock { [isTooMany] in $0.finish(isTooMany ? nil : found, isTooMany: isTooMany, at: .now) }
        } catch {
            // Each name is looked up by a request; the next lookup lists again.
            known.withLock { $0.finish(nil, at: .now) }
        }
    }

    /// The cache's id; nil if no process has created it.
    package func existingID() throws(StoreError) -> String? {
        let (key, file) = (idKey, try begin())
        let descriptor = file.descriptor
        let found = try call("read", "") { (client) async throws(ObjectStoreError) in
            try await client.get(key, into: descriptor)
        }
        guard found != nil else { return nil }
        guard let id = CacheID.parse(String(decoding: try file.bytes(), as: UTF8.self)) else {
            throw StoreError(.damaged, "parse the cache id in", client.bucket.url(of: key))
        }
        return id
    }

    /// The cache's id in its object, which the first process creates.
    func bucketID() throws(StoreError) -> String {
        for _ in 0..<2 {
            if let id = try existingID() { return id }
            let (key, id, draft) = (idKey, CacheID.random(), try begin())
            let text = Array((id + "\n").utf8)
            try draft.write(text)
            let part = UploadedPart(of: draft.descriptor, count: text.count)
            do throws(StoreError) {
                return try call("create", "") { (client) async throws(ObjectStoreError) in
                    try await client.put(part, sha256: SHA256Digest.hex(of: text), as: key, if: .absent)
                    return id
                }
            } catch {
                // Another process created it.
                guard error.code == .busy else { throw error }
            }
        }
        throw StoreError(.busy, "create the cache id in", client.bucket.url(of: idKey))
    }

    private var idKey: String {
        (client.bucket.prefix.isEmpty ? "" : client.bucket.prefix + "/") + CacheID.fileName
    }

    /// Stores, reads and deletes a small object, to test permissions and the connection.
    ///
    /// - Throws: the first failure.
    package func probe() throws(StoreError) {
        let bytes = Array(CacheID.random().utf8)
        let (key, file) = (idKey + ".probe-" + CacheID.random(), try begin())
        try file.write(bytes)
        let part = UploadedPart(of: file.descriptor, count: bytes.count)
        _ = try call("upload", "") { (client) async throws(ObjectStoreError) in
            try await client.put(part, sha256: SHA256Digest.hex(of: bytes), as: key, if: .absent)
        }
        let answer = try begin()
        let descriptor = answer.descriptor
        _ = try call("download", "") { (client) async throws(ObjectStoreError) in
            try await client.get(key, into: descriptor)
        }
        guard try answer.bytes() == bytes else { throw StoreError(.damaged, "read back", client.bucket.url(of: key)) }
        try call("delete", "") { (client) async throws(ObjectStoreError) in try await client.delete(key) }
    }
}
