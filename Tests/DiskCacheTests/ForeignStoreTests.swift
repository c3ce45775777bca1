import DiskCache
import Glibc
import Synchronization
import Testing

/// A store that another module provides, with the public declarations of `DiskCache` only.
@Suite(.timeLimit(.minutes(5)))
struct ForeignStoreTests {
    private let directory: TemporaryDirectory
    private let store: MemoryStore
    private let key = CacheKey("http://example.com/image.png")

    init() throws {
        directory = try TemporaryDirectory()
        store = MemoryStore(staging: directory.path)
    }

    @Test func `keeps images under the names of its naming`() throws {
        try store.store(Array("image".utf8), as: key)
        let file = try #require(try store.open(key))
        #expect(try file.bytes(100) == Array("image".utf8))
        #expect(try store.contains(key))
        var paths: [String] = []
        try store.list(hidden: false) { entry in
            paths.append(entry.path)
            return true
        }
        #expect(paths == [store.naming.fileName(of: key)])
        #expect(try CacheUsage(of: store).bytes == 5)
        #expect(try store.remove(key))
        #expect(try !store.contains(key))
        #expect(try directory.names() == [])
    }

    @Test func `publishes nothing that is not permitted`() throws {
        let file = try store.begin()
        #expect(try !store.commit(file, as: key) { false })
        #expect(try store.open(key) == nil)
    }

    @Test func `expires files and reports why`() throws {
        try store.store(Array("image".utf8), as: key)
        var reasons: [ExpiredFile.Reason] = []
        let report = try store.expire(
            ExpiryPolicy(), now: .now, isDryRun: false, deleted: { reasons.append($0.reason) }, progress: { _ in true })
        #expect(reasons == [.size])
        #expect(report.expiredBySize.files == 1)
        #expect(report.kept.files == 0)
    }

    @Test func `throws errors of its own`() throws {
        #expect(throws: StoreError.self) { try store.remove(named: "../x") }
    }
}

/// Keeps images in memory; files are staged in a local directory, as an object store does.
private final class MemoryStore: ImageStore {
    let naming: any CacheNaming = .sdWebImage
    let directory = "memory"
    let cacheID = "00000000-0000-4000-8000-000000000000"
    private let staging: String
    private let images = Mutex<[String: (bytes: [UInt8], date: Timestamp)]>([:])

    init(staging: String) { self.staging = staging }

    func begin() throws(StoreError) -> TemporaryFile { try TemporaryFile(in: staging) }

    func commit(_ file: TemporaryFile, named name: String, if isPermitted: () -> Bool) throws(StoreError) -> Bool {
        guard let content = try OpenFile(ifPresent: file.path) else { throw StoreError(.missing, "upload", name) }
        let bytes = try content.bytes(content.size)
        guard isPermitted() else { return false }
        images.withLock { $0[name] = (bytes, .now) }
        return true
    }

    func open(named name: String) throws(StoreError) -> OpenFile? {
        guard let bytes = images.withLock({ $0[name]?.bytes }) else { return nil }
        // Not a temporary file, which is truncated with its last reference.
        let path = "\(staging)/open-\(name)"
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer {
            close(descriptor)
            unlink(path)
        }
        guard write(descriptor, bytes, bytes.count) == bytes.count else { throw StoreError("write", path) }
        return try OpenFile(ifPresent: path)
    }

    func peek(named name: String) throws(StoreError) -> OpenFile? { try open(named: name) }

    func remove(named name: String) throws(StoreError) -> Bool {
        guard !name.contains("/") else { throw StoreError(.invalidName, "remove", name) }
        return images.withLock { $0.removeValue(forKey: name) } != nil
    }

    func list(hidden: Bool, _ body: (CacheEntry) throws(StoreError) -> Bool) throws(StoreError) {
        for (name, image) in images.withLock({ $0 }) {
            guard try body(CacheEntry(path: name, size: image.bytes.count, modified: image.date)) else { return }
        }
    }

    func count() throws(StoreError) -> Int { images.withLock { $0.count } }

    func clear(isDryRun: Bool, deleted: (CacheEntry) -> Void) throws(StoreError) {
        try list(hidden: false) { entry in
            deleted(entry)
            return true
        }
        if !isDryRun { images.withLock { $0 = [:] } }
    }

    /// Deletes every file.
    func expire(
        _ policy: ExpiryPolicy, now: Timestamp, isDryRun: Bool, deleted: (ExpiredFile) -> Void,
        progress: (ExpiryReport) -> Bool
    ) throws(StoreError) -> ExpiryReport {
        var report = ExpiryReport()
        try clear(isDryRun: isDryRun) { entry in
            report.seen.files += 1
            report.expiredBySize.files += 1
            deleted(ExpiredFile(path: entry.path, allocated: entry.allocated, date: entry.accessed, reason: .size))
        }
        return report
    }
}
