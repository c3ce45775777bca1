private import CPlanes
internal import ImageModel

extension PlanarImage {
    /// Allocates red, green, blue and optional alpha with undefined samples.
    ///
    /// - Throws: `CodecFailure` if out of memory.
    init(uninitialized size: PixelSize, hasAlpha: Bool) throws(CodecFailure) {
        let colors = [try SamplePlane(size), try SamplePlane(size), try SamplePlane(size)]
        self.init(size: size, colors: colors, alpha: hasAlpha ? try SamplePlane(size) : nil)
    }

    /// Sets row `y` from pixels of red, green, blue, and straight alpha if the image has it. Only for the code that
    /// creates the image.
    func fill(row y: Int, pixels: UnsafePointer<UInt8>) {
        let rows = rows(y)
        if let alpha {
            larder_split_rgba(pixels, size.width, rows[0], rows[1], rows[2], alpha.row(y))
        } else {
            larder_split_rgb(pixels, size.width, rows[0], rows[1], rows[2])
        }
    }

    /// Red, green, blue, and straight alpha if the image has it. `Model.rgb` only.
    func copyPixels(to pixels: UnsafeMutablePointer<UInt8>) {
        for y in 0..<size.height {
            let rows = rows(y)
            if let alpha {
                larder_join_rgba(rows[0], rows[1], rows[2], alpha.row(y), size.width, pixels + y * size.width * 4)
            } else {
                larder_join_rgb(rows[0], rows[1], rows[2], size.width, pixels + y * size.width * 3)
            }
        }
    }

    /// As red, green and blue. A grey image shares one plane for all.
    func inRGB() throws(CodecFailure) -> PlanarImage {
        guard model != .rgb else { return self }
        let source = try drawn(PlaneView(whole: size), chroma: .full)
        if model == .grey {
            let grey = source.colors[0]
            return PlanarImage(size: size, colors: [grey, grey, grey], alpha: nil)
        }
        let result = try PlanarImage(uninitialized: size, hasAlpha: false)
        for y in 0..<size.height {
            let from = source.rows(y), to = result.rows(y)
            larder_ycc_to_rgb(from[0], from[1], from[2], size.width, to[0], to[1], to[2])
        }
        for plane in result.planes { plane.padEdges() }
        return result
    }

    /// As luma and chroma; the image must be opaque.
    func inYCC(_ chroma: Chroma, _ range: Range = .full) throws(CodecFailure) -> PlanarImage {
        if model == .ycc { return try drawn(PlaneView(whole: size), chroma: chroma, range: range) }
        if model == .grey {
            let luma = try drawn(PlaneView(whole: size), chroma: chroma, range: range).colors[0]
            let neutral = try SamplePlane.neutral(size, factor: chroma.factor, range.chroma)
            return PlanarImage(size: size, luma: luma, cb: neutral, cr: neutral)
        }
        let planes = [
            try SamplePlane(size, range: range.luma), try SamplePlane(size, range: range.chroma),
            try SamplePlane(size, range: range.chroma),
        ]
        let convert = range == .full ? larder_rgb_to_ycc : larder_rgb_to_limited_ycc
        for y in 0..<size.height {
            let from = rows(y), to = planes.map { $0.row(y) }
            convert(from[0], from[1], from[2], size.width, to[0], to[1], to[2])
        }
        for plane in planes { plane.padEdges() }
        let isFull = chroma == .full
        return PlanarImage(
            size: size, luma: planes[0], cb: isFull ? planes[1] : try planes[1].halved(),
            cr: isFull ? planes[2] : try planes[2].halved())
    }

    private func rows(_ y: Int) -> [UnsafeMutablePointer<UInt8>] { colors.map { $0.row(y) } }
}

extension SamplePlane {
    /// Half as wide and high, rounded up: means of two by two samples. Edges must be padded.
    fileprivate func halved() throws(CodecFailure) -> SamplePlane {
        let result = try SamplePlane(PixelSize(width: width, height: height), factor: 2, range: range)
        for y in 0..<result.height {
            larder_halve_rows(row(2 * y), row(min(2 * y + 1, height - 1)), result.width, result.row(y))
        }
        result.padEdges()
        return result
    }
}
