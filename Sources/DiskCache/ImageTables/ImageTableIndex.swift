/// Which picture lies at which place of an image table, and which was used last: the table's metadata, as a value.
struct ImageTableIndex: Equatable {
    private(set) var places: [EntityID: Int] = [:]
    private(set) var sources: [EntityID: EntityID] = [:]
    /// The most recently used first.
    private(set) var recent: [EntityID] = []

    /// Where the entity's picture lies, if it was made of `source`; then it is the most recently used one. A picture of
    /// another source is forgotten: the source has changed.
    mutating func find(_ entity: EntityID, source: EntityID) -> Int? {
        guard let place = places[entity] else { return nil }
        guard sources[entity] == source else {
            remove(entity)
            return nil
        }
        touch(entity)
        return place
    }

    /// The place for a new picture of the entity: its present one, else the lowest free one; at the maximum the one used
    /// longest ago gives way.
    mutating func claim(_ entity: EntityID, source: EntityID, maximum: Int) -> Int {
        let place: Int
        if let present = places[entity] {
            place = present
        } else {
            let taken = Set(places.values)
            let free = (0...taken.count).first { !taken.contains($0) } ?? taken.count
            if free >= maximum, let oldest = recent.last, let old = places[oldest] {
                remove(oldest)
                place = old
            } else {
                place = free
            }
        }
        places[entity] = place
        sources[entity] = source
        touch(entity)
        return place
    }

    mutating func remove(_ entity: EntityID) {
        places[entity] = nil
        sources[entity] = nil
        recent.removeAll { $0 == entity }
    }

    private mutating func touch(_ entity: EntityID) {
        recent.removeAll { $0 == entity }
        recent.insert(entity, at: 0)
    }

    init() {}

    /// From what was written; nil when it contradicts itself.
    init?(places: [EntityID: Int], sources: [EntityID: EntityID], recent: [EntityID]) {
        guard Set(places.values).count == places.count, places.values.allSatisfy({ $0 >= 0 }),
            Set(sources.keys) == Set(places.keys), Set(recent) == Set(places.keys), recent.count == places.count
        else { return nil }
        self.places = places
        self.sources = sources
        self.recent = recent
    }
}
