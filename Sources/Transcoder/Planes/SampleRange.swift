internal import ImageModel

/// A conversion between the ranges of samples: JPEG has 0 to 255, WebP 16 to 235 for luma and 16 to 240 for chroma.
struct SampleRange {
    private let table: [UInt8]

    private init(_ value: (Double) -> Double) {
        table = (0...255).map { UInt8(min(max(value(Double($0)).rounded(), 0), 255)) }
    }

    static let lumaToFull = SampleRange { ($0 - 16) * 255 / 219 }
    static let chromaToFull = SampleRange { ($0 - 128) * 255 / 224 + 128 }
    static let lumaToLimited = SampleRange { $0 * 219 / 255 + 16 }
    static let chromaToLimited = SampleRange { ($0 - 128) * 224 / 255 + 128 }

    /// Converts a plane in place. Only its creator may call it.
    func apply(to plane: SamplePlane) {
        plane.map(table, into: plane)
        plane.padEdges()
    }

    /// A converted copy.
    func applied(to plane: SamplePlane) throws(CodecFailure) -> SamplePlane {
        let copy = try SamplePlane(PixelSize(width: plane.width, height: plane.height))
        plane.map(table, into: copy)
        return copy
    }
}
