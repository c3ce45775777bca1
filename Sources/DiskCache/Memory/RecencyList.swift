/// Values by key in the order of their last use, with limits. Every step takes constant time.
struct RecencyList<Key: Hashable, Value> {
    private struct Node {
        let key: Key
        var value: Value
        var cost: Int
        /// Used next later, and next earlier.
        var newer, older: Int?
    }

    private(set) var costLimit: Int
    private(set) var countLimit: Int
    /// In more than 64 bits: no two costs can overflow it.
    private var cost: Int128 = 0
    private var places: [Key: Int] = [:]
    private var nodes: [Node?] = []
    private var free: [Int] = []
    private var newest, oldest: Int?

    /// - Parameters: 0 is no limit.
    init(costLimit: Int = 0, countLimit: Int = 0) {
        self.costLimit = costLimit
        self.countLimit = countLimit
    }

    var count: Int { places.count }

    /// What all cost, as far as an `Int` goes.
    var totalCost: Int { Int(clamping: cost) }

    func contains(_ key: Key) -> Bool { places[key] != nil }

    /// The value; to look is not to use.
    func value(_ key: Key) -> Value? { places[key].flatMap { nodes[$0]?.value } }

    /// What was not used for longest.
    var oldestKey: Key? { oldest.flatMap { nodes[$0]?.key } }

    /// All of it, the most recently used first.
    func newestFirst(_ body: (Key, Value) -> Void) {
        var place = newest
        while let here = place, let node = nodes[here] {
            body(node.key, node.value)
            place = node.older
        }
    }

    mutating func use(_ key: Key) -> Value? {
        guard let place = places[key], let node = nodes[place] else { return nil }
        unlink(place)
        linkAsNewest(place)
        return node.value
    }

    mutating func insert(_ value: Value, for key: Key, cost: Int = 0) {
        remove(key)
        guard costLimit <= 0 || cost <= costLimit else { return }
        let place = free.popLast() ?? nodes.count
        let node = Node(key: key, value: value, cost: cost)
        if place == nodes.count { nodes.append(node) } else { nodes[place] = node }
        places[key] = place
        self.cost += Int128(cost)
        linkAsNewest(place)
        evict()
    }

    @discardableResult
    mutating func remove(_ key: Key) -> Bool {
        guard let place = places.removeValue(forKey: key), let node = nodes[place] else { return false }
        unlink(place)
        cost -= Int128(node.cost)
        nodes[place] = nil
        free.append(place)
        return true
    }

    mutating func removeAll() { self = RecencyList(costLimit: costLimit, countLimit: countLimit) }

    mutating func setLimits(cost: Int, count: Int) {
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

    private mutating func linkAsNewest(_ place: Int) {
        nodes[place]?.older = newest
        nodes[place]?.newer = nil
        if let newest { nodes[newest]?.newer = place }
        newest = place
        oldest = oldest ?? place
    }

    private mutating func unlink(_ place: Int) {
        let newer = nodes[place]?.newer
        let older = nodes[place]?.older
        if let newer { nodes[newer]?.older = older } else { newest = older }
        if let older { nodes[older]?.newer = newer } else { oldest = newer }
    }
}
