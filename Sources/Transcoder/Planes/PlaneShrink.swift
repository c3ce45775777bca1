private import CPlanes
private import Glibc
internal import ImageModel

extension PlanarPicture {
    /// The picture as a view shows it, resampled once; planes that would not change are shared.
    ///
    /// - Throws: `PlaneFailure` when there is no memory.
    func drawn(_ view: PlaneView, chroma: Chroma) throws(PlaneFailure) -> PlanarPicture {
        let size = view.window.size
        let ofLuma = PlaneAxes(view, of: luma, span: 1)
        // A sample for each pixel is made as any decoder would; fewer are better made without that detour.
        let ofChroma =
            chroma == .full ? PlaneAxes(ofLuma, from: luma, to: blue) : PlaneAxes(view, of: blue, span: chroma.span)
        return PlanarPicture(
            size: size, luma: try ofLuma.resample(luma, size, span: 1),
            blue: try ofChroma.resample(blue, size, span: chroma.span),
            red: try ofChroma.resample(red, size, span: chroma.span))
    }
}

/// Both axes of the resampling of a plane.
private struct PlaneAxes {
    private let across, down: PlaneAxis

    init(_ view: PlaneView, of plane: SamplePlane, span: Int) {
        let window = view.window
        across = PlaneAxis(
            extent: plane.across, length: plane.width, scaled: view.scaled.width, offset: window.x,
            pixels: window.width, span: span, isMirrored: view.mirrorsColumns)
        down = PlaneAxis(
            extent: plane.down, length: plane.height, scaled: view.scaled.height, offset: window.y,
            pixels: window.height, span: span, isMirrored: view.mirrorsRows)
    }

    /// The same of a coarser plane of the same picture.
    init(_ axes: PlaneAxes, from fine: SamplePlane, to coarse: SamplePlane) {
        func axis(_ axis: PlaneAxis, _ extents: (Double, Double), _ lengths: (Int, Int)) -> PlaneAxis {
            let span = max(2, Int((extents.0 / extents.1).rounded()))
            return lengths.0 == lengths.1 ? axis : PlaneAxis(axis, span: span, length: lengths.1)
        }
        across = axis(axes.across, (fine.across, coarse.across), (fine.width, coarse.width))
        down = axis(axes.down, (fine.down, coarse.down), (fine.height, coarse.height))
    }

    /// The plane of a picture of `size`, each of whose samples spans `span` pixels.
    func resample(_ plane: SamplePlane, _ size: PixelSize, span: Int) throws(PlaneFailure) -> SamplePlane {
        if across.isIdentity(of: plane.width) && down.isIdentity(of: plane.height) { return plane }
        let result = try SamplePlane(
            width: across.count, height: down.count, across: Double(size.width) / Double(span),
            down: Double(size.height) / Double(span))
        let floats = larder_resample_scratch(plane.stride)
        guard let scratch = aligned_alloc(64, floats * MemoryLayout<Float>.size) else { throw PlaneFailure.memory }
        defer { free(scratch) }
        across.withTable { across in
            down.withTable { down in
                larder_resample(
                    plane.start, plane.stride, across, down, result.start, result.stride,
                    scratch.assumingMemoryBound(to: Float.self))
            }
        }
        result.continueRows()
        return result
    }
}

extension PlaneAxis {
    /// Whether the result is all of a plane of that many samples, unchanged.
    fileprivate func isIdentity(of length: Int) -> Bool {
        taps == 1 && count == length && first[0] == 0 && (count == 1 || first[1] == 1)
    }

    fileprivate func withTable(_ body: (larder_axis) -> Void) {
        first.withUnsafeBufferPointer { first in
            weights.withUnsafeBufferPointer { weights in
                body(
                    larder_axis(
                        count: Int32(count), taps: Int32(taps), first: first.baseAddress, weights: weights.baseAddress))
            }
        }
    }
}
