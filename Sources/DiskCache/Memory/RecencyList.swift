/// Values by key in the order of their last use, with limits. Every step takes constant time.
struct RecencyList<Value> {
    private struct Node {
        let key: CacheKey
        var value: Value
        var cost: Int
        /// Used next later, and next earlier.
        var newer, older: Int?
    }

    private(set) var costLimit: Int
    private(set) var countLimit: Int
    private(set) var totalCost = 0
    private var places: [CacheKey: Int] = [:]
    private var nodes: [Node?] = []
    private var free: [Int] = []
    private var newest, oldest: Int?

    init(costLimit: Int, countLimit: Int) {
        self.costLimit = costLimit
        self.countLimit = countLimit
    }

    var count: Int { places.count }

    func contains(_ key: CacheKey) -> Bool { places[key] != nil }

    mutating func use(_ key: CacheKey) -> Value? {
        guard let place = places[key], let node = nodes[place] else { return nil }
        unlink(place)
        linkAsNewest(place)
        return node.value
    }

    mutating func insert(_ value: Value, for key: CacheKey, cost: Int) {
        remove(key)
        guard costLimit <= 0 || cost <= costLimit else { return }
        let place = free.popLast() ?? nodes.count
        let node = Node(key: key, value: value, cost: cost)
        if place == nodes.count { nodes.append(node) } else { nodes[place] = node }
        places[key] = place
        totalCost += cost
        linkAsNewest(place)
        evict()
    }

    @discardableResult
    mutating func remove(_ key: CacheKey) -> Bool {
        guard let place = places.removeValue(forKey: key), let node = nodes[place] else { return false }
        unlink(place)
        totalCost -= node.cost
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
        while let oldest, (costLimit > 0 && totalCost > costLimit) || (countLimit > 0 && count > countLimit) {
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
