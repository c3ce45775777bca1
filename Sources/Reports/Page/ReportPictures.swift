import Concurrency
import DiskCache
import FoundationEssentials
import ImageModel
import Terminal
import Transcoder

/// Makes a report's small pictures from cache files, in transcoders.
struct ReportPictures {
    let place: CachePlace
    let pool: TranscoderPool
    let limit: Int
    /// Maximum bytes in the page, as base64.
    let maxBytes: Int

    /// Maximum bytes of a still and of an animated picture.
    private static let maxStill = 6_144, maxAnimated = 49_152

    /// Files of one item whose pictures are added together or not at all.
    struct Unit: Equatable, Sendable {
        let item: Int
        let files: [Int]
        let isAnimated: Bool
    }

    /// The room that the pictures take, and the items that have one.
    private struct Use {
        var pictures = 0, bytes = 0, animated = 0
        var items: Set<Int> = []
    }

    /// Pictures of a script element: `[[item, file, WebP in base64], …]`.
    typealias Write = (String) async throws -> Void
    private static let rowsOfElement = 24

    /// Writes pictures: originals, each with a variant, for the first images, then originals alone, then the other
    /// variants of the first images. A file that is missing or cannot be decoded has none.
    func write(_ items: [ReportGallery.Item], to write: Write) async throws {
        var use = Use()
        let (pairs, originals, others) = Self.units(of: items)
        // Half the room for pairs, unless all of them fit.
        let fits = pairs.count * 2 <= limit && pairs.count * 2 * Self.maxStill * 4 / 3 <= maxBytes
        try await self.write(
            pairs[...], of: items, &use, fits ? limit : limit / 2, fits ? maxBytes : maxBytes / 2, write)
        let rest = originals.filter { !use.items.contains($0.item) }
        try await self.write(rest[...], of: items, &use, limit, maxBytes, write)
        try await self.write(others[...], of: items, &use, limit, maxBytes, write)
    }

    /// Pairs of original and first variant, the same items' originals alone, and the items' further variants.
    static func units(of items: [ReportGallery.Item]) -> (pairs: [Unit], originals: [Unit], others: [Unit]) {
        var (pairs, originals, others): ([Unit], [Unit], [Unit]) = ([], [], [])
        for (number, item) in items.enumerated() {
            let stored = item.names.indices.filter { item.names[$0] != nil }
            guard let first = stored.first else { continue }
            pairs.append(Unit(item: number, files: Array(stored.prefix(2)), isAnimated: item.isAnimated))
            originals.append(Unit(item: number, files: [first], isAnimated: item.isAnimated))
            others += stored.dropFirst(2).map { Unit(item: number, files: [$0], isAnimated: item.isAnimated) }
        }
        return (pairs, originals, others)
    }

    /// Writes units in order while they fit.
    private func write(
        _ units: ArraySlice<Unit>, of items: [ReportGallery.Item], _ use: inout Use, _ most: Int, _ mostBytes: Int,
        _ write: Write
    ) async throws {
        let still = try Self.variant(#"{"width":200,"height":200}"#, #""quality":70,"maxBytes":\#(Self.maxStill)"#)
        let animated = try Self.variant(#"{"width":120,"height":120}"#, #""quality":40"#)
        var waiting = units
        var isFull = false
        var rows = ScriptJSON(), count = 0
        try await withThrowingTaskGroup(of: (Unit, [(file: Int, picture: String)]).self) { group in
            var running = 0
            // A few more than there are transcoders, so that none waits for this task.
            while !waiting.isEmpty && !isFull || running > 0 {
                if !isFull, running < pool.count + 2, let unit = waiting.popFirst() {
                    running += 1
                    // Animations use at most half of the space.
                    let moves = unit.isAnimated && use.animated < maxBytes / 2
                    group.addTask {
                        var made: [(file: Int, picture: String)] = []
                        for file in unit.files {
                            guard let name = items[unit.item].names[file] else { continue }
                            var found = moves ? await picture(of: name, animated, Self.maxAnimated, []) : nil
                            if found == nil {
                                found = await picture(of: name, still, Self.maxStill, .firstFrameOnly)
                            }
                            if let found { made.append((file, found)) }
                        }
                        return (unit, made)
                    }
                } else if let (unit, made) = try await group.next() {
                    running -= 1
                    let size = made.reduce(0) { $0 + $1.picture.utf8.count + 16 }
                    guard use.pictures + made.count <= most, use.bytes + size <= mostBytes else {
                        isFull = true
                        continue
                    }
                    use.pictures += made.count
                    use.bytes += size
                    if unit.isAnimated { use.animated += size }
                    if !made.isEmpty { use.items.insert(unit.item) }
                    for (file, picture) in made {
                        count += 1
                        rows.addArray { row in
                            row.add(unit.item)
                            row.add(file)
                            row.add(picture)
                        }
                    }
                    if count >= Self.rowsOfElement {
                        try await write(rows.array)
                        (rows, count) = (ScriptJSON(), 0)
                    }
                }
            }
        }
        if count > 0 { try await write(rows.array) }
    }

    private static func variant(_ size: String, _ fields: String) throws(VariantError) -> Variant {
        try Variant(json: #"{"name":"picture","thumbnail":\#(size),"format":"webp",\#(fields)}"#.utf8)
    }

    /// A file as WebP in base64; nil if impossible within `limit` bytes.
    private func picture(
        of name: String, _ variant: Variant, _ limit: Int, _ options: TranscodeRequest.Options
    ) async -> String? {
        do {
            let opened = try await place.disk.run { [store = place.store] in
                try store.peek(named: name).map { ($0, try ScratchFile()) }
            }
            guard let (file, output) = opened else { return nil }
            var request = TranscodeRequest(
                source: file.descriptor, variants: [variant], outputs: [output.descriptor], options: options)
            request.wantsDigest = false
            let made = try await pool.transcode(request).variants[0].get()
            guard made.format == .webp, made.bytes <= limit else { return nil }
            let bytes = await place.disk.run { output.prefix(made.bytes) }
            return Data(bytes).base64EncodedString()
        } catch {
            return nil
        }
    }
}
