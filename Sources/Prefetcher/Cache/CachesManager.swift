private import Concurrency
public import DiskCache
import Dispatch

/// Several stores used as one; the last has the highest priority. All functions block.
///
/// Source: SDWebImage 5.21.5, `SDImageCachesManager`, with its defaults, except that `contains` has its own policy.
public struct CachesManager: Sendable {
    /// Which stores a call uses. Raw values as in SDWebImage.
    public enum Policy: Int, Sendable, CaseIterable {
        /// One after the other, highest priority first. A query ends with the first store that has the image; failing
        /// stores are skipped.
        case serial = 0
        /// All at once. A query returns the first result.
        case concurrent = 1
        /// The store with the highest priority.
        case highestOnly = 2
        /// The store with the lowest priority.
        case lowestOnly = 3
    }

    /// The stores, lowest priority first.
    public var stores: [any ImageStore]
    /// For `open`, `serial` by default.
    public var queryPolicy = Policy.serial
    /// For `store`, `highestOnly` by default.
    public var storePolicy = Policy.highestOnly
    /// For `remove`, `concurrent` by default.
    public var removePolicy = Policy.concurrent
    /// For `contains`, `serial` by default.
    public var containsPolicy = Policy.serial
    /// For `clear`, `concurrent` by default.
    public var clearPolicy = Policy.concurrent

    /// - Parameter stores: lowest priority first. Without stores every call does nothing.
    public init(_ stores: [any ImageStore]) { self.stores = stores }

    /// Opens the image for `key` in the first store that has it; nil when none does.
    ///
    /// - Throws: the first failure, when no store has it.
    public func open(_ key: CacheKey) throws(StoreError) -> OpenFile? {
        try first(queryPolicy) { (store) throws(StoreError) in try store.open(key) }
    }

    /// Whether a store has an image for `key`.
    ///
    /// - Throws: the first failure, when no store has it.
    public func contains(_ key: CacheKey) throws(StoreError) -> Bool {
        try first(containsPolicy) { (store) throws(StoreError) in try store.contains(key) ? true : nil } ?? false
    }

    /// Stores `bytes` as the image of `key`.
    ///
    /// - Throws: the first failure, after all stores were called.
    public func store(_ bytes: [UInt8], as key: CacheKey) throws(StoreError) {
        _ = try all(storePolicy) { (store) throws(StoreError) in try store.store(bytes, as: key) }
    }

    /// Deletes the image of `key` and returns whether a store had it.
    public func remove(_ key: CacheKey) throws(StoreError) -> Bool {
        try all(removePolicy) { (store) throws(StoreError) in try store.remove(key) }.contains(true)
    }

    /// Deletes every image.
    public func clear() throws(StoreError) {
        _ = try all(clearPolicy) { (store) throws(StoreError) in try store.clear(isDryRun: false) { _ in } }
    }

    /// The stores that a policy selects, highest priority first.
    private func selected(_ policy: Policy) -> [any ImageStore] {
        switch policy {
        case .serial, .concurrent: stores.reversed()
        case .highestOnly: stores.suffix(1)
        case .lowestOnly: Array(stores.prefix(1))
        }
    }

    private func first<Value: Sendable>(
        _ policy: Policy, _ query: @Sendable (any ImageStore) throws(StoreError) -> Value?
    ) throws(StoreError) -> Value? {
        let stores = selected(policy)
        let found = Locked<(value: Value?, failure: StoreError?)>((nil, nil))
        let step: @Sendable (Int) -> Void = { index in
            if policy == .serial && found.withLock({ $0.value != nil }) { return }
            let result = Result { () throws(StoreError) in try query(stores[index]) }
            found.withLock { found in
                switch result {
                case .success(let value): found.value = found.value ?? value
                case .failure(let error): found.failure = found.failure ?? error
                }
            }
        }
        Self.perform(policy, stores.count, step)
        let (value, failure) = found.withLock { $0 }
        if value == nil, let failure { throw failure }
        return value
    }

    private func all<Value: Sendable>(
        _ policy: Policy, _ action: @Sendable (any ImageStore) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value] {
        let stores = selected(policy)
        let results = Locked<[Result<Value, StoreError>]>([])
        Self.perform(policy, stores.count) { index in
            let result = Result { () throws(StoreError) in try action(stores[index]) }
            results.withLock { $0.append(result) }
        }
        return try results.withLock { $0 }.map { (result) throws(StoreError) in try result.get() }
    }

    private static func perform(_ policy: Policy, _ count: Int, _ step: @Sendable (Int) -> Void) {
        if policy == .concurrent {
            DispatchQueue.concurrentPerform(iterations: count, execute: step)
        } else {
            (0..<count).forEach(step)
        }
    }
}
