import DiskCache
import Dispatch
import TestSupport
import Testing

@testable import Prefetcher

/// Loads with a cache on another host.
@Suite(.timeLimit(.minutes(5)))
struct StoreThreadsTests {
    @Test func `a load that waits for its store holds neither the transcoder nor the disk thread`() async throws {
        let harness = try ManagerHarness()
        var configuration = ImageManager.Configuration(sources: [try harness.web])
        (configuration.diskThreads, configuration.storeThreads) = (1, 2)
        let store = WaitingStore(harness.cache)
        let manager = ImageManager(cache: store, transcoders: harness.transcoders, configuration: configuration)
        for path in ["/a.jpg", "/b.jpg"] { harness.origin.on(path, .body(harness.image)) }
        async let first = manager.load(try harness.request("/a.jpg"))
        async let second = manager.load(try harness.request("/b.jpg"))
        #expect(try await [first.made, second.made] == [1, 1])
    }

    @Test func `as many loads have open files as there are transcoders and threads`() async throws {
        let threads = StoreThreads(1, transcoders: 1)
        let places = [await threads.enter(), await threads.enter()]
        #expect(places == [true, true])
        let third = Task { await threads.enter() }
        third.cancel()
        #expect(await third.value == false)
        threads.leave()
        #expect(await threads.enter())
    }
}

/// A directory whose first commit ends after another load's commit, the second one, has begun.
private struct WaitingStore: ImageStore {
    private let store: DirectoryStore
    private let commits = CallCount()
    private let secondHasBegun = DispatchSemaphore(value: 0)

    init(_ store: DirectoryStore) { self.store = store }

    func commit(_ file: TemporaryFile, named name: String, if isPermitted: () -> Bool) throws(StoreError) -> Bool {
        switch commits.next() {
        case 1:
            guard secondHasBegun.wait(timeout: .now() + 200) == .success else {
                throw StoreError(.busy, "wait for another load", name)
            }
        case 2: secondHasBegun.signal()
        default: break
        }
        return try store.commit(file, named: name, if: isPermitted)
    }

    var naming: any CacheNaming { store.naming }
    var directory: String { store.directory }
    var cacheID: String { get throws(StoreError) { try store.cacheID } }

    func begin() throws(StoreError) -> TemporaryFile { try store.begin() }
    func open(named name: String) throws(StoreError) -> OpenFile? { try store.open(named: name) }
    func peek(named name: String) throws(StoreError) -> OpenFile? { try store.peek(named: name) }
    func remove(named name: String) throws(StoreError) -> Bool { try store.remove(named: name) }
    func count() throws(StoreError) -> Int { try store.count() }

    func list(hidden: Bool, _ body: (CacheEntry) throws(StoreError) -> Bool) throws(StoreError) {
        try store.list(hidden: hidden, body)
    }

    func clear(isDryRun: Bool, deleted: (CacheEntry) -> Void) throws(StoreError) {
        try store.clear(isDryRun: isDryRun, deleted: deleted)
    }

    func expire(
        _ policy: ExpiryPolicy, now: Timestamp, isDryRun: Bool, deleted: (ExpiredFile) -> Void,
        progress: (ExpiryReport) -> Bool
    ) throws(StoreError) -> ExpiryReport {
        try store.expire(policy, now: now, isDryRun: isDryRun, deleted: deleted, progress: progress)
    }
}
