private import CPlanes
internal import ImageModel

/// An opaque image as planes of luma (Y) and chroma (Cb, Cr): full range, by JFIF's matrix.
package struct PlanarImage {
    /// The resolution of the chroma planes.
    package enum Chroma: Sendable, Hashable {
        /// 4:4:4, that of luma.
        case full
        /// 4:2:0, half of luma's in each direction, rounded up.
        case subsampled420

        /// Pixels per sample in each direction.
        var factor: Int { self == .full ? 1 : 2 }
    }

    /// In pixels.
    let size: PixelSize
    let luma, cb, cr: SamplePlane

    var planes: [SamplePlane] { [luma, cb, cr] }
}

extension PlanarImage {
    /// Space for 4:4:4 planes, or for luma alone; the samples are undefined.
    ///
    /// - Throws: `CodecFailure` when there is no memory.
    init(uninitialized size: PixelSize, isGrey: Bool) throws(CodecFailure) {
        func chroma() throws(CodecFailure) -> SamplePlane { isGrey ? try .neutral() : try SamplePlane(size) }
        self.init(size: size, luma: try SamplePlane(size), cb: try chroma(), cr: try chroma())
    }

    /// Converts row `y` from red, green and blue. Only the code that creates the image may call it.
    func fill(row y: Int, rgb: UnsafePointer<UInt8>) {
        larder_rgb_row(
            rgb, size.width, luma.start + y * luma.stride, cb.start + y * cb.stride, cr.start + y * cr.stride)
    }

    func transposed() throws(CodecFailure) -> PlanarImage {
        PlanarImage(
            size: size.transposed, luma: try luma.transposed(), cb: try cb.transposed(), cr: try cr.transposed())
    }

    /// The image as a view shows it, resampled once; unchanged planes are shared.
    ///
    /// - Throws: `CodecFailure` when there is no memory.
    func drawn(_ view: PlaneView, chroma: Chroma) throws(CodecFailure) -> PlanarImage {
        let size = view.window.size
        let lumaFilter = PlaneFilter(view, of: luma, factor: 1)
        // Full chroma is upsampled as decoders do it; subsampled chroma is resampled from its own samples.
        let chromaFilter =
            chroma == .full
            ? PlaneFilter(lumaFilter, from: luma, to: cb) : PlaneFilter(view, of: cb, factor: chroma.factor)
        return PlanarImage(
            size: size, luma: try lumaFilter.resample(luma, size, factor: 1),
            cb: try chromaFilter.resample(cb, size, factor: chroma.factor),
            cr: try chromaFilter.resample(cr, size, factor: chroma.factor))
    }
}
