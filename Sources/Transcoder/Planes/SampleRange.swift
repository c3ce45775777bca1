/// A change from one range of samples to another: JPEG's has all of 0 to 255, WebP's luma 16 to 235, its chroma 16 to 240.
struct SampleRange {
    private let table: [UInt8]

    private init(_ value: (Double) -> Double) {
        table = (0...255).map { UInt8(min(max(value(Double($0)).rounded(), 0), 255)) }
    }

    static let lumaToFull = SampleRange { ($0 - 16) * 255 / 219 }
    static let chromaToFull = SampleRange { ($0 - 128) * 255 / 224 + 128 }
    static let lumaToLimited = SampleRange { $0 * 219 / 255 + 16 }
    static let chromaToLimited = SampleRange { ($0 - 128) * 224 / 255 + 128 }

    /// Changes a plane in place; only its maker may.
    func apply(to plane: SamplePlane) {
        change(plane, into: plane)
        plane.continueRows()
    }

    /// A changed copy.
    func applied(to plane: SamplePlane) throws(PlaneFailure) -> SamplePlane {
        let copy = try SamplePlane(width: plane.width, height: plane.height, across: plane.across, down: plane.down)
        change(plane, into: copy)
        return copy
    }

    private func change(_ source: SamplePlane, into target: SamplePlane) {
        table.withUnsafeBufferPointer { table in
            for y in 0..<source.height {
                let from = source.start + y * source.stride, to = target.start + y * target.stride
                for x in 0..<source.width { to[x] = table[Int(from[x])] }
            }
        }
    }
}
