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
        // 2 to 4 µs a pixel: up to 16 s of the 20 s that an image has for all its variants.
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

/// The brands in the first box of a HEIF container: the main one, then the compatible ones.
enum HEIFBrands {
    /// The longest edge that libvips 8.14.1 writes without a fault.
    static let maxEdge = 16383

    /// libheif searches lists of items and properties once for each item. An image of tiles has one for each tile.
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
