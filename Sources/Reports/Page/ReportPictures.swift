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

    /// The space used by the pictures.
    private struct Use {
        var pictures = 0, bytes = 0, animated = 0
    }

    /// Adds pictures: originals with one variant for the first images, then originals alone, then further variants of
    /// the first images. Missing and undecodable files get none.
    func add(to gallery: inout ReportGallery) async throws {
        var use = Use()
        let (pairs, originals, others) = Self.units(of: gallery.items)
        // Half of the space for pairs, unless all fit.
        let fits = pairs.count * 2 <= limit && pairs.count * 2 * Self.maxStill * 4 / 3 <= maxBytes
        try await add(pairs[...], to: &gallery, &use, fits ? limit : limit / 2, fits ? maxBytes : maxBytes / 2)
        let rest = originals.filter { [items = gallery.items] in !items[$0.item].hasPicture }
        try await add(rest[...], to: &gallery, &use, limit, maxBytes)
        try await add(others[...], to: &gallery, &use, limit, maxBytes)
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

    /// Adds units in order while they fit.
    private func add(
        _ units: ArraySlice<Unit>, to gallery: inout ReportGallery, _ use: inout Use, _ most: Int, _ mostBytes: Int
    ) async throws {
        let still = try Self.variant(#"{"width":200,"height":200}"#, #""quality":70,"maxBytes":\#(Self.maxStill)"#)
        let animated = try Self.variant(#"{"width":120,"height":120}"#, #""quality":40"#)
        let items = gallery.items
        var waiting = units
        var isFull = false
        await withTaskGroup(of: (Unit, [(file: Int, picture: String)]).self) { group in
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
                } else if let (unit, made) = await group.next() {
                    running -= 1
                    let size = ReportGallery.bytes(of: made)
                    guard use.pictures + made.count <= most, use.bytes + size <= mostBytes else {
                        isFull = true
                        continue
                    }
                    use.pictures += made.count
                    use.bytes += size
                    if unit.isAnimated { use.animated += size }
                    gallery.add(made, ofItem: unit.item)
                }
            }
        }
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
