private import ImageModel

/// Maps a table's images to slots in its file, in order of last use.
struct ImageTableIndex {
    struct Entry: Equatable {
        let slot: Int
        let source: EntityID
    }

    private var entries = RecencyList<EntityID, Entry>()
    /// Free slots below `end`, descending.
    private var free: [Int] = []
    /// Every slot from here on is free.
    private var end = 0

    init() {}

    var count: Int { entries.count }

    /// Calls `body` with every image, most recently used first.
    func forEachByRecency(_ body: (EntityID, Entry) -> Void) { entries.forEachByRecency(body) }

    /// The slot of the entity's image, which becomes the most recently used. Removes an image made from another source,
    /// as the source has changed.
    mutating func find(_ entity: EntityID, source: EntityID) -> Int? {
        guard let entry = entries.use(entity) else { return nil }
        guard entry.source == source else {
            remove(entity)
            return nil
        }
        return entry.slot
    }

    /// The slot for the entity's new image: its current one, else the lowest free one, else the least recently used
    /// image's. The caller removes the replaced image.
    func slot(for entity: EntityID, maxCount: Int) -> (slot: Int, replaced: EntityID?) {
        if let present = entries.value(entity) { return (present.slot, entity) }
        let lowest = free.last ?? end
        if lowest >= maxCount, let oldest = entries.oldestKey, let entry = entries.value(oldest) {
            return (entry.slot, oldest)
        }
        return (lowest, nil)
    }

    /// Adds an image in a free slot as the most recently used.
    mutating func put(_ entity: EntityID, source: EntityID, at slot: Int) {
        remove(entity)
        if slot >= end {
            // Other writers' tables can have gaps.
            free.insert(contentsOf: (end..<slot).reversed(), at: 0)
            end = slot + 1
        } else if let index = index(ofFree: slot) {
            free.remove(at: index)
        }
        entries.insert(Entry(slot: slot, source: source), for: entity)
    }

    mutating func remove(_ entity: EntityID) {
        guard let entry = entries.value(entity) else { return }
        entries.remove(entity)
        free.insert(entry.slot, at: lowerBound(of: entry.slot))
    }

    private func lowerBound(of slot: Int) -> Int {
        var range = 0..<free.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = free[middle] > slot ? (middle + 1)..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    private func index(ofFree slot: Int) -> Int? {
        let index = lowerBound(of: slot)
        return index < free.count && free[index] == slot ? index : nil
    }

    /// Restores an index; nil if the parts contradict each other.
    ///
    /// - Parameters:
    ///   - recent: most recently used first.
    ///   - slotCount: slots in the file.
    init?(slots: [EntityID: Int], sources: [EntityID: EntityID], recent: [EntityID], slotCount: Int) {
        guard Set(slots.values).count == slots.count, slots.values.allSatisfy({ (0..<slotCount).contains($0) }),
            Set(sources.keys) == Set(slots.keys), Set(recent) == Set(slots.keys), recent.count == slots.count
        else { return nil }
        end = (slots.values.max() ?? -1) + 1
        let taken = Set(slots.values)
        free = (0..<end).reversed().filter { !taken.contains($0) }
        for entity in recent.reversed() {
            guard let slot = slots[entity], let source = sources[entity] else { return nil }
            entries.insert(Entry(slot: slot, source: source), for: entity)
        }
    }
}

/// Identifies an image, or its source, in an image table: a 16-byte MD5.
package struct EntityID: Hashable, Sendable {
    package let bytes: [UInt8]

    /// Identifies an image by its cache key.
    package init(_ key: CacheKey) { self.init(md5Of: key.text.utf8) }

    /// Identifies a source by the original's key and a text that changes with its contents: an ETag or digest.
    package init(source key: CacheKey, state: String) { self.init(md5Of: Array(key.text.utf8) + [0] + state.utf8) }

    private init(md5Of data: some Collection<UInt8>) {
        bytes = Self.bytes(GLibText.md5(of: data))
    }

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Parses a UUID; nil if invalid.
    init?(text: String) {
        let digits = text.filter { $0 != "-" }
        let bytes = Self.bytes(digits)
        guard digits.utf8.count == 32, bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    private static func bytes(_ digits: String) -> [UInt8] {
        let digits = Array(digits)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...($0 + 1)]), radix: 16)
        }
    }

    var text: String {
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            text += byte.hexadecimal(digits: 2, uppercase: true)
        }
        return text
    }
}
