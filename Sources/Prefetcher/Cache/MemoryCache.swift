private import Concurrency
public import DiskCache

/// Values in memory by cache key, limited by total cost and number. Evicts the least recently used.
///
/// For programs that load the same images repeatedly. Workers have none: their jobs are independent and decoded images
/// are large. Source: SDWebImage 5.21.5, `SDMemoryCache`, which leaves the order of eviction undefined.
public final class MemoryCache<Value: Sendable>: Sendable {
    private let state: Locked<RecencyList<CacheKey, Value>>

    /// - Parameters:
    ///   - costLimit: 0, the default, is no limit.
    ///   - countLimit: 0, the default, is no limit.
    public init(costLimit: Int = 0, countLimit: Int = 0) {
        state = Locked(RecencyList(costLimit: costLimit, countLimit: countLimit))
    }

    /// The maximum total cost, 0 for no limit; a lower value evicts at once.
    public var costLimit: Int {
        get { state.withLock { $0.costLimit } }
        set { state.withLock { $0.setLimits(cost: newValue, count: $0.countLimit) } }
    }

    /// The maximum number of values, 0 for no limit; a lower value evicts at once.
    public var countLimit: Int {
        get { state.withLock { $0.countLimit } }
        set { state.withLock { $0.setLimits(cost: $0.costLimit, count: newValue) } }
    }

    /// The number of values.
    public var count: Int { state.withLock { $0.count } }

    /// The sum of all costs, clamped to `Int`.
    public var totalCost: Int { state.withLock { $0.totalCost } }

    /// The value for `key`, which becomes the most recently used.
    public func value(for key: CacheKey) -> Value? { state.withLock { $0.use(key) } }

    /// Whether there is a value for `key`. Does not count as a use.
    public func contains(_ key: CacheKey) -> Bool { state.withLock { $0.contains(key) } }

    /// Stores `value`, replacing an earlier value of `key`.
    ///
    /// - Parameters:
    ///   - value: the value to keep.
    ///   - key: its key.
    ///   - cost: for a decoded image `cost(bytesPerRow:height:frames:)`; 0 by default, as for negative values. A value
    ///     that alone exceeds the limit is not stored.
    public func store(_ value: Value, for key: CacheKey, cost: Int = 0) {
        state.withLock { $0.insert(value, for: key, cost: max(0, cost)) }
    }

    /// Removes the value of `key` and returns whether there was one.
    @discardableResult
    public func remove(_ key: CacheKey) -> Bool { state.withLock { $0.remove(key) } }

    /// Removes every value.
    public func removeAll() { state.withLock { $0.removeAll() } }

    /// The size of a decoded image in bytes, clamped to `Int`.
    public static func cost(bytesPerRow: Int, height: Int, frames: Int = 1) -> Int {
        [height, frames].reduce(bytesPerRow) { cost, factor in
            let (product, isOver) = cost.multipliedReportingOverflow(by: factor)
            return isOver ? .max : product
        }
    }
}
