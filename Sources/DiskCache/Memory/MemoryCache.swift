import Synchronization

/// Values in memory by cache key, up to a total cost and a number: what was not used for longest goes first.
///
/// Workers use none: their jobs are independent of each other, and decoded pictures are large. It is for programs that load
/// the same pictures again and again.
/// Source: SDWebImage 5.21.5, `SDMemoryCache`, which leaves the order of eviction open.
public final class MemoryCache<Value: Sendable>: Sendable {
    private let state: Mutex<RecencyList<CacheKey, Value>>

    /// An empty cache.
    ///
    /// - Parameters:
    ///   - costLimit: the most that all values together may cost; 0, the default, is no limit.
    ///   - countLimit: the most values; 0, the default, is no limit.
    public init(costLimit: Int = 0, countLimit: Int = 0) {
        state = Mutex(RecencyList(costLimit: costLimit, countLimit: countLimit))
    }

    /// The most that all values together may cost; a lower one evicts at once.
    public var costLimit: Int {
        get { state.withLock { $0.costLimit } }
        set { state.withLock { $0.setLimits(cost: newValue, count: $0.countLimit) } }
    }

    /// The most values; a lower one evicts at once.
    public var countLimit: Int {
        get { state.withLock { $0.countLimit } }
        set { state.withLock { $0.setLimits(cost: $0.costLimit, count: newValue) } }
    }

    /// How many values are there.
    public var count: Int { state.withLock { $0.count } }

    /// What they cost together; `Int.max` where it is more.
    public var totalCost: Int { state.withLock { $0.totalCost } }

    /// The value of `key`, which is then the most recently used; nil when there is none.
    public func value(for key: CacheKey) -> Value? { state.withLock { $0.use(key) } }

    /// Whether there is a value; this is no use of it.
    public func contains(_ key: CacheKey) -> Bool { state.withLock { $0.contains(key) } }

    /// Keeps `value`, in place of an earlier one of the key.
    ///
    /// - Parameter cost: for a decoded picture its bytes per row × height × frames, see `cost(bytesPerRow:height:frames:)`;
    ///   less than 0 counts as 0, the default. A value that alone costs more than the limit is not kept.
    public func store(_ value: Value, for key: CacheKey, cost: Int = 0) {
        state.withLock { $0.insert(value, for: key, cost: max(0, cost)) }
    }

    /// Forgets the key's value. Returns whether there was one.
    @discardableResult
    public func remove(_ key: CacheKey) -> Bool { state.withLock { $0.remove(key) } }

    /// Forgets everything.
    public func removeAll() { state.withLock { $0.removeAll() } }

    /// What a decoded picture costs, in bytes: not the length of its file. `Int.max` where it is more.
    public static func cost(bytesPerRow: Int, height: Int, frames: Int = 1) -> Int {
        [height, frames].reduce(bytesPerRow) { cost, factor in
            let (product, isOver) = cost.multipliedReportingOverflow(by: factor)
            return isOver ? .max : product
        }
    }
}
