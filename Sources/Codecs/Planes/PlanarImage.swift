internal import ImageModel

/// An image as planes of 8-bit samples: luma and chroma, luma alone, or red, green, blue with optional alpha.
struct PlanarImage {
    /// The resolution of the chroma planes.
    enum Chroma: Sendable, Hashable {
        /// 4:4:4, as for luma.
        case full
        /// 4:2:0, half of luma in each direction, rounded up.
        case subsampled420

        /// Pixels per sample in each direction.
        var factor: Int { self == .full ? 1 : 2 }
    }

    /// The value range of luma and chroma; red, green, blue and alpha have the full range.
    enum Range: Sendable, Hashable {
        /// As in JPEG.
        case full
        /// As in WebP.
        case limited

        var luma: SampleRange { self == .full ? .full : .limitedLuma }
        var chroma: SampleRange { self == .full ? .full : .limitedChroma }
    }

    enum Model: Sendable, Hashable {
        /// Luma (Y) and chroma (Cb, Cr) by JFIF's matrix. Chroma may be subsampled.
        case ycc
        case grey
        /// Red, green and blue; alpha is straight.
        case rgb
    }

    /// In pixels.
    let size: PixelSize
    let model: Model
    /// One plane for `Model.grey`, else three.
    let colors: [SamplePlane]
    /// Nil if opaque; only for `Model.rgb`.
    let alpha: SamplePlane?

    init(size: PixelSize, luma: SamplePlane, cb: SamplePlane, cr: SamplePlane) {
        (self.size, model, colors, alpha) = (size, .ycc, [luma, cb, cr], nil)
    }

    init(size: PixelSize, grey: SamplePlane) { (self.size, model, colors, alpha) = (size, .grey, [grey], nil) }

    init(size: PixelSize, colors: [SamplePlane], alpha: SamplePlane?) {
        precondition(colors.count == 3, "red, green and blue")
        (self.size, model, self.colors, self.alpha) = (size, .rgb, colors, alpha)
    }

    var planes: [SamplePlane] { colors + (alpha.map { [$0] } ?? []) }

    /// Applies the same change to every plane.
    private func mapped(
        to size: PixelSize, _ change: (SamplePlane) throws(CodecFailure) -> SamplePlane
    ) throws(CodecFailure) -> PlanarImage {
        var made: [SamplePlane] = []
        for plane in planes { made.append(try change(plane)) }
        switch model {
        case .ycc: return PlanarImage(size: size, luma: made[0], cb: made[1], cr: made[2])
        case .grey: return PlanarImage(size: size, grey: made[0])
        case .rgb: return PlanarImage(size: size, colors: Array(made[..<3]), alpha: made.count > 3 ? made[3] : nil)
        }
    }

    func transposed() throws(CodecFailure) -> PlanarImage {
        try mapped(to: size.transposed) { (plane) throws(CodecFailure) in try plane.transposed() }
    }

    /// The image in a view, resampled and rounded once; unchanged planes are shared.
    ///
    /// - Parameters:
    ///   - chroma: resolution of the chroma planes; only for `Model.ycc`.
    ///   - range: of luma and chroma.
    /// - Throws: `CodecFailure` if out of memory.
    func drawn(_ view: PlaneView, chroma: Chroma, range: Range = .full) throws(CodecFailure) -> PlanarImage {
        let size = view.window.size
        let filter = PlaneFilter(view, of: colors[0], factor: 1)
        if let alpha, !filter.isCopy { return try filter.resample(colors, alpha: alpha, size) }
        guard model == .ycc else {
            let range = model == .grey ? range.luma : .full
            return try mapped(to: size) { (plane) throws(CodecFailure) in
                try filter.resample(plane, size, factor: 1, range)
            }
        }
        let (luma, cb, cr) = (colors[0], colors[1], colors[2])
        // Full chroma is upsampled as decoders do; subsampled chroma is resampled from its own samples.
        let chromaFilter =
            chroma == .full ? PlaneFilter(filter, from: luma, to: cb) : PlaneFilter(view, of: cb, factor: chroma.factor)
        return PlanarImage(
            size: size, luma: try filter.resample(luma, size, factor: 1, range.luma),
            cb: try chromaFilter.resample(cb, size, factor: chroma.factor, range.chroma),
            cr: try chromaFilter.resample(cr, size, factor: chroma.factor, range.chroma))
    }
}
