import Concurrency
import DiskCache
import Foundation
import ImageModel
import Transcoder

/// Makes the small pictures of a report from the files of the cache, in transcoders.
struct ReportPictures {
    let place: CachePlace
    let pool: TranscoderPool
    /// The most pictures.
    let limit: Int

    /// The most bytes of a picture, and of an animated one.
    private static let maxBytes = 6_144, maxAnimatedBytes = 49_152

    /// A file of an item, by their numbers.
    private struct Place: Sendable {
        let item: Int
        let file: Int
        let name: String
        let isAnimated: Bool
    }

    /// Adds pictures: those of originals first, at most two thirds where there are variants, then those of the variants
    /// of the first images. A file that is missing or cannot be decoded has none.
    func add(to gallery: inout ReportGallery) async throws {
        let places = places(in: gallery)
        let variants = places.filter { $0.file > 0 }
        let originals = places.filter { $0.file == 0 }.prefix(max(limit - variants.count, limit * 2 / 3))
        let wanted = originals + variants.prefix(limit - originals.count)
        let still = try Self.variant(#"{"width":200,"height":200}"#, #""quality":70,"maxBytes":\#(Self.maxBytes)"#)
        let animated = try Self.variant(#"{"width":120,"height":120}"#, #""quality":40"#)
        var made: [(Place, String)] = []
        await withTaskGroup(of: (Place, String?).self) { group in
            for (number, place) in wanted.enumerated() {
                if number > pool.count, let (place, picture) = await group.next(), let picture {
                    made.append((place, picture))
                }
                group.addTask {
                    if place.isAnimated,
                        let picture = await picture(of: place.name, animated, Self.maxAnimatedBytes, [])
                    {
                        return (place, picture)
                    }
                    return (place, await picture(of: place.name, still, Self.maxBytes, .firstFrameOnly))
                }
            }
            for await (place, picture) in group { if let picture { made.append((place, picture)) } }
        }
        for (place, picture) in made { gallery.set(picture, ofFile: place.file, ofItem: place.item) }
    }

    private static func variant(_ size: String, _ fields: String) throws(VariantError) -> Variant {
        try Variant(json: #"{"name":"picture","thumbnail":\#(size),"format":"webp",\#(fields)}"#.utf8)
    }

    private func places(in gallery: ReportGallery) -> [Place] {
        gallery.items.enumerated().flatMap { number, item in
            item.files.enumerated().compactMap { place, file in
                guard let path = file.path, let name = path.split(separator: "/").last else { return nil }
                return Place(item: number, file: place, name: String(name), isAnimated: item.frames > 1)
            }
        }
    }

    /// A file as a `data:` URL of WebP; nil where none can be made within `limit` bytes.
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
            return "data:image/webp;base64," + Data(bytes).base64EncodedString()
        } catch {
            return nil
        }
    }
}
