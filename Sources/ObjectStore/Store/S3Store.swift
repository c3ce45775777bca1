internal import Concurrency
package import DiskCache
internal import Downloader
private import Glibc
private import ImageModel

/// Images as objects of an S3-compatible store, with a local directory as a cache.
///
/// The keys are `PREFIX/default/<file name>`, so that a directory's copy and a bucket have the same names. Reading
/// tries the directory, then the bucket, and keeps downloads; storing writes to both. Source: SDWebImage 5.21.5,
/// `SDImageCachesManager`, with the policy `serial` for queries and all caches for stores.
///
/// Uploads are conditional, so that a worker that was suspended between its last check and its upload replaces nothing
/// newer. docs/storage.md has the guarantees.
package final class S3Store: ImageStore {
    package struct Options: Sendable {
        /// `Cache-Control` of stored objects, `public, max-age=86400`; nil for none.
        package var cacheControl: String? = "public, max-age=86400"
        /// Larger files are uploaded in parts, `16 MiB`.
        package var partThreshold = 16 << 20
        /// Bytes per part, at least 5 MiB, `8 MiB`.
        package var partSize = 8 << 20
        /// Bytes of the local directory above which its oldest files are deleted, `1 GiB`.
        package var localSize = 1 << 30
        /// Age at which a local copy is no longer used and deleted, `1 day`: shorter than any life-cycle rule, so that
        /// no copy outlives its object.
        package var localAge = Duration.seconds(86_400)
        /// Whether to read and keep copies in the local directory, `true`; false for checks of the bucket.
        package var usesLocal = true
        /// Whether to list a small store's names once, to save a request per missing image, `true`.
        package var holdsNames = true
        /// The media type of a file in an unknown format, by its first 512 bytes; none by default.
        package var mediaType: @Sendable ([UInt8]) -> String? = { _ in nil }
        /// Read-only stores that are searched for missing images, none by default.
        package var fallbacks: [any ImageStore] = []

        /// The defaults.
        package init() {}
    }

    let client: ObjectClient
    let local: DirectoryStore
    let options: Options
    let known = Locked(KnownNames())
    /// Whether the server has refused `If-Match`.
    private let lacksIfMatch = Locked(false)
    /// Bytes added to the local directory since it was last expired.
    private let unexpired: Locked<Int>
    private static let maximumRounds = 8
    private static let expiriesPerSize = 8

    /// A store over a client; sends nothing.
    ///
    /// - Parameter local: receives uploads before they are sent, and keeps copies.
    package init(_ client: ObjectClient, local: DirectoryStore, options: Options = Options()) {
        self.client = client
        self.local = local
        self.options = options
        // The first copy expires leftovers of earlier processes.
        unexpired = Locked(options.localSize / Self.expiriesPerSize)
    }

    package var naming: any CacheNaming { local.naming }
    /// Such as `default`.
    package var directory: String { local.directory }
    /// False: each would cost a request, and no earlier version wrote to buckets.
    package var searchesEarlierNames: Bool { false }

    /// False: opening an object transfers it.
    package var keepsAttributes: Bool { false }
    package var fallbacks: [any ImageStore] { options.fallbacks }

    /// An object next to the directory, created if missing.
    package var cacheID: String { get throws(StoreError) { try bucketID() } }

    func key(of name: String) -> String { listPrefix + name }

    /// The prefix of all keys.
    var listPrefix: String { (client.bucket.prefix.isEmpty ? "" : client.bucket.prefix + "/") + directory + "/" }

    /// `s3://BUCKET/PREFIX/default/<file name>`.
    package func url(of name: String) -> String { client.bucket.url(of: key(of: name)) }

    /// Calls the client and waits for the result.
    func call<Value: Sendable>(
        _ operation: String, _ name: String,
        _ body: @escaping @Sendable (ObjectClient) async throws(ObjectStoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(ObjectStoreError) {
            return try blockingCall { [client] () async throws(ObjectStoreError) in try await body(client) }
        } catch {
            throw StoreError(error, operation, url(of: name))
        }
    }

    // MARK: - Reading

    /// The local copy, else a new one of the object.
    package func open(named name: String) throws(StoreError) -> OpenFile? {
        if try hasCopy(name), let file = try local.open(named: name) { return file }
        return try download(name)
    }

    /// As `open`, but keeps a local copy's access time.
    package func peek(named name: String) throws(StoreError) -> OpenFile? {
        if try hasCopy(name), let file = try local.peek(named: name) { return file }
        return try download(name)
    }

    /// From the local copy, else by a HEAD request or none.
    package func size(named name: String, isUse: Bool) throws(StoreError) -> Int? {
        if try hasCopy(name), let size = try local.size(named: name, isUse: isUse) { return size }
        if isCertainlyMissing(name) { return nil }
        let key = key(of: name)
        return try call("look up", name) { (client) async throws(ObjectStoreError) in try await client.head(key)?.size }
    }

    /// From the object's metadata, by a HEAD request; else from its bytes.
    package func digest(named name: String) throws(StoreError) -> String? {
        if isCertainlyMissing(name) { return nil }
        let key = key(of: name)
        let head = try call("look up", name) { (client) async throws(ObjectStoreError) in try await client.head(key) }
        guard let head else { return nil }
        if let digest = ObjectMetadata(head).sha256 { return digest }
        return try download(name).flatMap { SHA256Digest.hex(ofFile: $0.descriptor) }
    }

    private func download(_ name: String) throws(StoreError) -> OpenFile? {
        if isCertainlyMissing(name) { return nil }
        let file = try local.begin()
        let (key, descriptor) = (key(of: name), file.descriptor)
        let head = try call("download", name) { (client) async throws(ObjectStoreError) in
            try await client.get(key, into: descriptor)
        }
        guard let head else { return nil }
        let metadata = ObjectMetadata(head)
        guard let found = SHA256Digest.hex(ofFile: descriptor) else { throw StoreError("pread", file.path) }
        if let expected = metadata.sha256, found != expected {
            throw StoreError(.damaged, "use", url(of: name), cause: "its digest is not the one in its metadata")
        }
        // Open it before the commit, after which expiry may delete the name.
        let opened = try OpenFile(ifPresent: file.path)
        if let opened { metadata.restore(to: opened) }
        guard options.usesLocal else {
            file.detach()
            return opened
        }
        _ = try local.commit(file, named: name) { true }
        expireLocally(after: head.size)
        return opened
    }

    // MARK: - Writing

    /// A temporary file in the local directory.
    package func begin() throws(StoreError) -> TemporaryFile { try local.begin() }

    /// Uploads the file, then keeps it locally. The object is durable when this returns.
    package func commit(
        _ file: TemporaryFile, named name: String, if isPermitted: () -> Bool
    ) throws(StoreError) -> Bool {
        guard let sha256 = SHA256Digest.hex(ofFile: file.descriptor) else { throw StoreError("pread", file.path) }
        let size = try file.size
        let metadata = try ObjectMetadata(of: file, sha256: sha256)
        let prefix = [UInt8](unsafeUninitializedCapacity: ImageFormat.recognisedBytes) { buffer, count in
            count = max(0, pread(file.descriptor, buffer.baseAddress, buffer.count, 0))
        }
        let headers = metadata.headers(
            contentType: options.mediaType(prefix) ?? ImageFormat.recognise(prefix)?.mediaType
                ?? "application/octet-stream",
            cacheControl: options.cacheControl)
        let upload = Upload(file: file.descriptor, size: size, sha256: sha256, headers: headers)
        guard try publish(upload, name, isPermitted) != .notPermitted else { return false }
        known.withLock { $0.insert(name) }
        guard options.usesLocal else { return true }
        // Without the local copy the next read downloads one.
        _ = try? local.commit(file, named: name) { true }
        expireLocally(after: size)
        return true
    }

    private struct Upload: Sendable {
        let file: Int32
        let size: Int
        let sha256: String
        let headers: [HeaderField]
    }

    private enum WriteOutcome: Sendable {
        /// By this upload.
        case written
        /// The object already had the same bytes.
        case present
        case notPermitted
    }

    private func publish(
        _ upload: Upload, _ name: String, _ isPermitted: () -> Bool
    ) throws(StoreError) -> WriteOutcome {
        guard upload.size > options.partThreshold else {
            let key = key(of: name)
            let part = UploadedPart(of: upload.file, count: upload.size)
            return try write(name, upload.sha256, isPermitted) { [client] (tried, ask) async throws(ObjectStoreError) in
                try await client.put(
                    part, sha256: upload.sha256, as: key, headers: upload.headers, if: tried, permitted: ask)
            }
        }
        let (key, partSize) = (key(of: name), options.partSize)
        var digests: [String] = []
        for offset in stride(from: 0, to: upload.size, by: partSize) {
            let part = offset..<min(offset + partSize, upload.size)
            guard let digest = SHA256Digest.hex(ofFile: upload.file, in: part) else { throw StoreError("pread", name) }
            digests.append(digest)
        }
        let pending = try call("upload", name) { [digests] (client) async throws(ObjectStoreError) in
            try await client.putParts(
                of: upload.file, size: upload.size, partSize: partSize, as: key, headers: upload.headers,
                digests: digests)
        }
        var outcome = WriteOutcome.notPermitted
        defer { if outcome != .written { blockingCall { [client] in await client.abort(pending) } } }
        outcome = try write(name, upload.sha256, isPermitted) { [client] (tried, ask) async throws(ObjectStoreError) in
            try await client.complete(pending, if: tried, permitted: ask)
        }
        return outcome
    }

    /// Writes an object on condition that the store is unchanged since it was read, before `isPermitted` was called,
    /// immediately before each try.
    private func write(
        _ name: String, _ sha256: String, _ isPermitted: () -> Bool,
        _ send: @escaping @Sendable (WriteCondition, @escaping WritePermission) async throws(ObjectStoreError) -> Void
    ) throws(StoreError) -> WriteOutcome {
        var condition = WriteCondition.absent
        for _ in 0..<Self.maximumRounds {
            let tried = condition
            do throws(ObjectStoreError) {
                try answeringCall(isPermitted) { (ask) async throws(ObjectStoreError) in try await send(tried, ask) }
                return .written
            } catch {
                switch error.code {
                case .withdrawn: return .notPermitted
                case .preconditionFailed, .conflict, .noObject:
                    guard let next = try next(name, sha256) else { return isPermitted() ? .present : .notPermitted }
                    condition = next
                case .unsupported where tried != .none:
                    if case .unchanged = tried { lacksIfMatch.withLock { $0 = true } }
                    condition = .none
                default: throw StoreError(error, "upload", url(of: name))
                }
            }
        }
        throw StoreError(.busy, "upload", url(of: name))
    }

    /// The condition for the next try; nil if the object has the same bytes.
    private func next(_ name: String, _ sha256: String) throws(StoreError) -> WriteCondition? {
        let key = key(of: name)
        let head = try call("look up", name) { (client) async throws(ObjectStoreError) in try await client.head(key) }
        guard let head else { return .absent }
        if ObjectMetadata(head).sha256 == sha256 { return nil }
        return lacksIfMatch.withLock { $0 } ? WriteCondition.none : .unchanged(head.etag)
    }

    /// Deletes the object and the local copy.
    package func remove(named name: String) throws(StoreError) -> Bool {
        let key = key(of: name)
        let existed = try call("delete", name) { (client) async throws(ObjectStoreError) in
            guard try await client.head(key) != nil else { return false }
            try await client.delete(key)
            return true
        }
        _ = try local.remove(named: name)
        return existed
    }

    // MARK: - The local directory

    /// Whether there is a copy recent enough that the bucket still has the object.
    private func hasCopy(_ name: String) throws(StoreError) -> Bool {
        guard options.usesLocal, let created = try local.creationDate(named: name) else { return false }
        return created > Timestamp.now - options.localAge
    }

    /// Expires the directory at the first copy and after each eighth of its size.
    private func expireLocally(after bytes: Int) {
        let isDue = unexpired.withLock { count in
            count += bytes
            guard count >= options.localSize / Self.expiriesPerSize else { return false }
            count = 0
            return true
        }
        guard isDue else { return }
        let policy = ExpiryPolicy(
            maxAge: options.localAge, maxSize: options.localSize, date: .creation, sparing: .zero)
        // Another thread or process may be expiring it already.
        _ = try? local.expire(policy, now: .now, isDryRun: false, deleted: { _ in }, progress: { _ in true })
    }
}
