/// Values by key in order of last use, limited by number and cost. Every operation takes constant time.
package struct RecencyList<Key: Hashable, Value> {
    private struct Node {
        let key: Key
        var value: Value
        var cost: Int
        /// The nodes used after and before this one.
        var newer, older: Int?
    }

    package private(set) var costLimit: Int
    package private(set) var countLimit: Int
    /// Wider than a cost, so that the sum cannot overflow.
    private var cost: Int128 = 0
    private var indexes: [Key: Int] = [:]
    private var nodes: [Node?] = []
    private var free: [Int] = []
    private var newest, oldest: Int?

    /// - Parameters: 0, the default, is no limit.
    package init(costLimit: Int = 0, countLimit: Int = 0) {
        self.costLimit = costLimit
        self.countLimit = countLimit
    }

    package var count: Int { indexes.count }

    /// Clamped to `Int`.
    package var totalCost: Int { Int(clamping: cost) }

    /// Does not count as a use.
    package func contains(_ key: Key) -> Bool { indexes[key] != nil }

    /// Does not count as a use.
    package func value(_ key: Key) -> Value? { indexes[key].flatMap { nodes[$0]?.value } }

    package var oldestKey: Key? { oldest.flatMap { nodes[$0]?.key } }

    /// Most recently used first.
    package func forEachByRecency(_ body: (Key, Value) -> Void) {
        var index = newest
        while let current = index, let node = nodes[current] {
            body(node.key, node.value)
            index = node.older
        }
    }

    /// The value of `key`, which becomes the most recently used.
    package mutating func use(_ key: Key) -> Value? {
        guard let index = indexes[key], let node = nodes[index] else { return nil }
        unlink(index)
        linkAsNewest(index)
        return node.value
    }

    /// Adds a value as the most recently used, replacing an earlier one, unless it alone exceeds the limit.
    package mutating func insert(_ value: Value, for key: Key, cost: Int = 0) {
        remove(key)
        guard costLimit <= 0 || cost <= costLimit else { return }
        let index = free.popLast() ?? nodes.count
        let node = Node(key: key, value: value, cost: cost)
        if index == nodes.count { nodes.append(node) } else { nodes[index] = node }
        indexes[key] = index
        self.cost += Int128(cost)
        linkAsNewest(index)
        evict()
    }

    /// Returns whether there was a value.
    @discardableResult
    package mutating func remove(_ key: Key) -> Bool {
        guard let index = indexes.removeValue(forKey: key), let node = nodes[index] else { return false }
        unlink(index)
        cost -= Int128(node.cost)
        nodes[index] = nil
        free.append(index)
        return true
    }

    /// Keeps the limits.
    package mutating func removeAll() { self = RecencyList(costLimit: costLimit, countLimit: countLimit) }

    /// Evicts whatever exceeds the new limits.
    package mutating func setLimits(cost: Int, count: Int) {
        costLimit = cost
        countLimit = count
        evict()
    }

    private mutating func evict() {
        while let oldest, (costLimit > 0 && cost > costLimit) || (countLimit > 0 && count > countLimit) {
            guard let key = nodes[oldest]?.key else { return }
            remove(key)
        }
    }

    private mutating func linkAsNewest(_ index: Int) {
        nodes[index]?.older = newest
        nodes[index]?.newer = nil
        if let newest { nodes[newest]?.newer = index }
        newest = index
        oldest = oldest ?? index
    }

    private mutating func unlink(_ index: Int) {
        let newer = nodes[index]?.newer
        let older = nodes[index]?.older
        if let newer { nodes[newer]?.older = older } else { newest = older }
        if let older { nodes[older]?.newer = newer } else { oldest = newer }
    }
}
