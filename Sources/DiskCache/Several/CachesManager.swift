import Dispatch
import Synchronization

/// What several caches can be asked together.
public protocol PictureCache: Sendable {
    /// Opens the picture for `key`; nil when there is none.
    func read(_ key: CacheKey) throws(StoreError) -> OpenFile?
    /// Whether there is a picture for `key`.
    func contains(_ key: CacheKey) throws(StoreError) -> Bool
    /// Makes `bytes` the picture of `key`.
    func store(_ bytes: [UInt8], as key: CacheKey) throws(StoreError)
    /// Deletes the picture of `key`; whether there was one.
    func remove(_ key: CacheKey) throws(StoreError) -> Bool
    /// Deletes every picture.
    func clear() throws(StoreError)
}

/// Several caches as one. The last one has the highest priority.
///
/// Without caches nothing happens; with one every call goes to it. All calls block.
/// Source: SDWebImage 5.21.5, `SDImageCachesManager`, with its defaults; unlike there `contains` goes by its own policy.
public struct CachesManager: PictureCache {
    /// Which caches a call goes to. The raw values are SDWebImage's.
    public enum Policy: Int, Sendable, CaseIterable {
        /// One after the other, the highest priority first; a question ends with the first answer, and a cache that fails
        /// gives none.
        case serial = 0
        /// All at once; a question takes the first answer.
        case concurrent = 1
        /// The one of highest priority.
        case highestOnly = 2
        /// The one of lowest priority.
        case lowestOnly = 3
    }

    /// The caches, lowest priority first.
    public var caches: [any PictureCache]
    /// How pictures are read; `serial` by default.
    public var queryPolicy = Policy.serial
    /// How pictures are stored; `highestOnly` by default.
    public var storePolicy = Policy.highestOnly
    /// How pictures are deleted; `concurrent` by default.
    public var removePolicy = Policy.concurrent
    /// How it is asked whether there is a picture; `serial` by default.
    public var containsPolicy = Policy.serial
    /// How everything is deleted; `concurrent` by default.
    public var clearPolicy = Policy.concurrent

    /// A manager of these caches, lowest priority first.
    public init(_ caches: [any PictureCache]) { self.caches = caches }

    /// Opens the picture for `key` in the first cache that has it.
    ///
    /// - Throws: the first failure, when no cache has an answer.
    public func read(_ key: CacheKey) throws(StoreError) -> OpenFile? {
        try first(queryPolicy) { (cache) throws(StoreError) in try cache.read(key) }
    }

    /// Whether a cache has a picture for `key`.
    public func contains(_ key: CacheKey) throws(StoreError) -> Bool {
        try first(containsPolicy) { (cache) throws(StoreError) in try cache.contains(key) ? true : nil } ?? false
    }

    /// Stores in the caches that the policy names; one that fails keeps none of the others from it.
    ///
    /// - Throws: the first failure.
    public func store(_ bytes: [UInt8], as key: CacheKey) throws(StoreError) {
        _ = try all(storePolicy) { (cache) throws(StoreError) in try cache.store(bytes, as: key) }
    }

    /// Deletes in the caches that the policy names; whether one of them had it.
    public func remove(_ key: CacheKey) throws(StoreError) -> Bool {
        try all(removePolicy) { (cache) throws(StoreError) in try cache.remove(key) }.contains(true)
    }

    /// Deletes everything in the caches that the policy names.
    public func clear() throws(StoreError) {
        _ = try all(clearPolicy) { (cache) throws(StoreError) in try cache.clear() }
    }

    // MARK: -

    /// The caches that a policy names, highest priority first.
    private func named(_ policy: Policy) -> [any PictureCache] {
        switch policy {
        case .serial, .concurrent: caches.reversed()
        case .highestOnly: caches.suffix(1)
        case .lowestOnly: Array(caches.prefix(1))
        }
    }

    private func first<Answer: Sendable>(
        _ policy: Policy, _ ask: @Sendable (any PictureCache) throws(StoreError) -> Answer?
    ) throws(StoreError) -> Answer? {
        let caches = named(policy)
        guard policy == .concurrent && caches.count > 1 else {
            var failure: StoreError?
            for cache in caches {
                do throws(StoreError) {
                    if let answer = try ask(cache) { return answer }
                } catch {
                    failure = failure ?? error
                }
            }
            if let failure { throw failure }
            return nil
        }
        let found = Mutex<(answer: Answer?, failure: StoreError?)>((nil, nil))
        DispatchQueue.concurrentPerform(iterations: caches.count) { index in
            let result = Result { () throws(StoreError) in try ask(caches[index]) }
            found.withLock { found in
                switch result {
                case .success(let answer): found.answer = found.answer ?? answer
                case .failure(let error): found.failure = found.failure ?? error
                }
            }
        }
        let (answer, failure) = found.withLock { $0 }
        if answer == nil, let failure { throw failure }
        return answer
    }

    private func all<Answer: Sendable>(
        _ policy: Policy, _ act: @Sendable (any PictureCache) throws(StoreError) -> Answer
    ) throws(StoreError) -> [Answer] {
        let caches = named(policy)
        let results = Mutex<[Result<Answer, StoreError>]>([])
        let step: @Sendable (Int) -> Void = { index in
            let result = Result { () throws(StoreError) in try act(caches[index]) }
            results.withLock { $0.append(result) }
        }
        if policy == .concurrent {
            DispatchQueue.concurrentPerform(iterations: caches.count, execute: step)
        } else {
            caches.indices.forEach(step)
        }
        return try results.withLock { $0 }.map { (result) throws(StoreError) in try result.get() }
    }
}

extension DiskCache: PictureCache {
    /// Writes `bytes` to a temporary file and publishes it as the picture of `key`.
    public func store(_ bytes: [UInt8], as key: CacheKey) throws(StoreError) {
        let file = try makeTemporaryFile()
        let result = bytes.withUnsafeBytes { bytes in Result { () throws(StoreError) in try file.write(bytes) } }
        try result.get()
        try publish(file, as: key)
    }

    /// Deletes every picture; what is being written stays its writer's.
    public func clear() throws(StoreError) { try layout.clear(isDryRun: false) }
}
