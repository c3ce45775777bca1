/// Which picture lies at which place of an image table, and which was used last: the table's metadata, as a value.
///
/// Every step takes constant time, but for the search among the places that are free again.
struct ImageTableIndex {
    /// Where a picture lies, and what it was made of.
    struct Entry: Equatable {
        let place: Int
        let source: EntityID
    }

    private var entries = RecencyList<EntityID, Entry>()
    /// Below the highest place that was ever taken; the lowest last.
    private var free: [Int] = []
    /// From here on every place is free.
    private var end = 0

    init() {}

    /// How many pictures there are.
    var count: Int { entries.count }

    /// Every picture, the most recently used first.
    func newestFirst(_ body: (EntityID, Entry) -> Void) { entries.newestFirst(body) }

    /// Where the entity's picture lies, if it was made of `source`; then it is the most recently used one. A picture of
    /// another source is forgotten: the source has changed.
    mutating func find(_ entity: EntityID, source: EntityID) -> Int? {
        guard let entry = entries.use(entity) else { return nil }
        guard entry.source == source else {
            remove(entity)
            return nil
        }
        return entry.place
    }

    /// The place for a picture of the entity, which then is to be put there: its present one, else the lowest free one; at
    /// the maximum that of the one used longest ago, which gives way.
    func place(for entity: EntityID, maximum: Int) -> (place: Int, givesWay: EntityID?) {
        if let present = entries.value(entity) { return (present.place, entity) }
        let lowest = free.last ?? end
        if lowest >= maximum, let oldest = entries.oldestKey, let entry = entries.value(oldest) {
            return (entry.place, oldest)
        }
        return (lowest, nil)
    }

    /// Notes that the entity's picture lies at `place`, which is free: it is the most recently used one.
    mutating func put(_ entity: EntityID, source: EntityID, at place: Int) {
        remove(entity)
        if place >= end {
            // Only what was written by others leaves a gap.
            free.insert(contentsOf: (end..<place).reversed(), at: 0)
            end = place + 1
        } else if let index = index(ofFree: place) {
            free.remove(at: index)
        }
        entries.insert(Entry(place: place, source: source), for: entity)
    }

    mutating func remove(_ entity: EntityID) {
        guard let entry = entries.value(entity) else { return }
        entries.remove(entity)
        free.insert(entry.place, at: lowerBound(of: entry.place))
    }

    // MARK: - Free places, the highest first

    private func lowerBound(of place: Int) -> Int {
        var range = 0..<free.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = free[middle] > place ? (middle + 1)..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    private func index(ofFree place: Int) -> Int? {
        let index = lowerBound(of: place)
        return index < free.count && free[index] == place ? index : nil
    }

    // MARK: -

    /// From what was written; nil when it contradicts itself.
    ///
    /// - Parameters:
    ///   - recent: the most recently used first.
    ///   - placeCount: how many places the table has at most.
    init?(places: [EntityID: Int], sources: [EntityID: EntityID], recent: [EntityID], placeCount: Int) {
        guard Set(places.values).count == places.count, places.values.allSatisfy({ (0..<placeCount).contains($0) }),
            Set(sources.keys) == Set(places.keys), Set(recent) == Set(places.keys), recent.count == places.count
        else { return nil }
        end = (places.values.max() ?? -1) + 1
        let taken = Set(places.values)
        free = (0..<end).reversed().filter { !taken.contains($0) }
        for entity in recent.reversed() {
            guard let place = places[entity], let source = sources[entity] else { return nil }
            entries.insert(Entry(place: place, source: source), for: entity)
        }
    }
}
