extension ImageFormat {
    /// HEIC: HEVC in a HEIF container, by its own brands.
    public static let heic = ImageFormat(
        name: "heic", mediaType: "image/heic", sdImageFormat: .heic, acceptance: .byDefault,
        hasSignature: { prefix in
            ["heic", "heix", "hevc", "hevx", "heim", "heis", "hevm", "hevs"].contains {
                HEIFBrands.hasMain($0, in: prefix)
            }
        },
        declaredEnd: ISOBoxes.declaredEnd, parts: HEIFBrands.boxes, frames: .first, countedFrames: HEIFSequence.frames,
        decoding: hevcDecoding,
        // 2 to 4 µs per pixel: up to 16 s of an image's 20 s for all its variants.
        output: Output(
            defaultQuality: 80, maxPixels: 4_000_000, maxEdge: HEIFBrands.maxEdge, needsTrial: true, nanoseconds: 3000))

    /// HEIF by the general brands `mif1` and `msf1`; written back as HEIC.
    public static let heif = ImageFormat(
        name: "heif", mediaType: "image/heif", sdImageFormat: .heif, acceptance: .byDefault,
        hasSignature: { HEIFBrands.isGeneral($0) && !HEIFBrands.listAVIF($0) },
        declaredEnd: ISOBoxes.declaredEnd, parts: HEIFBrands.boxes, frames: .first, countedFrames: HEIFSequence.frames,
        decoding: hevcDecoding, writtenAs: "heic")
}

/// libde265 takes twice as long for the finest quality as for a camera's.
private let hevcDecoding = ImageFormat.DecodeCost(nanoseconds: 105, margin: 1.5)

/// The brands in a HEIF container's first box: the major one, then the compatible ones.
enum HEIFBrands {
    /// The longest edge that libvips 8.14.1 writes correctly.
    static let maxEdge = 16383

    /// libheif searches lists of items and properties once per item, and a tiled image has an item per tile.
    static let boxes = ImageFormat.Parts(name: "boxes", limit: 5_000, count: ISOBoxes.inMeta)

    static func isContainer(_ prefix: [UInt8]) -> Bool { prefix.has("ftyp", at: 4) }

    static func hasMain(_ brand: StaticString, in prefix: [UInt8]) -> Bool {
        isContainer(prefix) && prefix.has(brand, at: 8)
    }

    static func isGeneral(_ prefix: [UInt8]) -> Bool { hasMain("mif1", in: prefix) || hasMain("msf1", in: prefix) }

    /// Whether AVIF is among the compatible brands.
    static func listAVIF(_ prefix: [UInt8]) -> Bool {
        let boxEnd = min(prefix.bigEndian(at: 0) ?? 0, prefix.count)
        return stride(from: 16, to: max(16, boxEnd - 3), by: 4).contains {
            prefix.has("avif", at: $0) || prefix.has("avis", at: $0)
        }
    }
}

extension ImageFormat {
    /// AVIF, animated or not.
    public static let avif = ImageFormat(
        name: "avif", mediaType: "image/avif", acceptance: .byDefault,
        hasSignature: { prefix in
            ["avif", "avis"].contains { HEIFBrands.hasMain($0, in: prefix) }
                || HEIFBrands.isGeneral(prefix) && HEIFBrands.listAVIF(prefix)
        },
        declaredEnd: ISOBoxes.declaredEnd, parts: HEIFBrands.boxes, frames: .composed,
        decoding: DecodeCost(animatedNanoseconds: 35, margin: 1.5),
        // Effort 1 takes 0.1 to 0.2 µs per pixel.
        output: Output(
            defaultQuality: 50, maxPixels: 16_000_000, maxEdge: HEIFBrands.maxEdge, isKept: false, needsTrial: true,
            nanoseconds: 100))
}

/// A HEIF container's image sequence (ISO/IEC 23008-12, 7), a track like a video's.
package enum HEIFSequence {
    /// Samples of the first picture track; 1 if there is none.
    @Sendable package static func frames(_ bytes: UnsafeRawBufferPointer) -> Int {
        let file = ISOBoxes(bytes, in: 0..<bytes.count)
        guard let movie = file.first("moov") else { return 1 }
        for track in ISOBoxes(bytes, in: movie) where bytes.has("trak", at: track.type) {
            guard let media = ISOBoxes(bytes, in: track.content).first("mdia"),
                let handler = ISOBoxes(bytes, in: media).first("hdlr"), bytes.has("pict", at: handler.lowerBound + 8),
                let information = ISOBoxes(bytes, in: media).first("minf"),
                let table = ISOBoxes(bytes, in: information).first("stbl"),
                let sizes = ISOBoxes(bytes, in: table).first("stsz")
            else { continue }
            let size = bytes.bigEndian(at: sizes.lowerBound + 4) ?? 0
            let count = bytes.bigEndian(at: sizes.lowerBound + 8) ?? 1
            // Samples of individual size are listed one by one; others must fit into the file.
            let most = size == 0 ? (sizes.count - 12) / 4 : bytes.count / size
            return max(1, min(count, most))
        }
        return 1
    }
}
