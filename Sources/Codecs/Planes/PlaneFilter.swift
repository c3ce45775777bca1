private import CPlanes
private import Glibc
internal import ImageModel

/// The filters of both axes of a plane's resampling.
struct PlaneFilter {
    private let columns, rows: FilterTable

    init(_ view: PlaneView, of plane: SamplePlane, factor: Int) {
        let window = view.window
        columns = FilterTable(
            exact: plane.exactWidth, length: plane.width, scaled: view.scaled.width, offset: window.x,
            pixels: window.width, factor: factor, isMirrored: view.mirrorsColumns)
        rows = FilterTable(
            exact: plane.exactHeight, length: plane.height, scaled: view.scaled.height, offset: window.y,
            pixels: window.height, factor: factor, isMirrored: view.mirrorsRows)
    }

    /// The same result from a subsampled plane of the same image.
    init(_ filter: PlaneFilter, from fine: SamplePlane, to coarse: SamplePlane) {
        func table(_ table: FilterTable, _ exact: (Double, Double), _ lengths: (Int, Int)) -> FilterTable {
            let factor = max(2, Int((exact.0 / exact.1).rounded()))
            return lengths.0 == lengths.1 ? table : FilterTable(table, factor: factor, length: lengths.1)
        }
        columns = table(filter.columns, (fine.exactWidth, coarse.exactWidth), (fine.width, coarse.width))
        rows = table(filter.rows, (fine.exactHeight, coarse.exactHeight), (fine.height, coarse.height))
    }

    /// Resamples a plane for an image of `size`, with `factor` pixels per sample.
    func resample(
        _ plane: SamplePlane, _ size: PixelSize, factor: Int, _ range: SampleRange
    ) throws(CodecFailure) -> SamplePlane {
        let isIdentity = columns.isIdentity(of: plane.width) && rows.isIdentity(of: plane.height)
        if isIdentity && plane.range == range { return plane }
        let result = try SamplePlane(size, factor: factor, range: range)
        let conversion = plane.range.conversion(to: range)
        try withTables(planes: 1, stride: plane.stride) { columns, rows, scratch in
            larder_resample(
                plane.start, plane.stride, columns, rows, conversion.scale, conversion.offset, result.start,
                result.stride, scratch)
        }
        result.padEdges()
        return result
    }

    /// Resamples red, green, blue and straight alpha to `size`, weighting colours by alpha.
    func resample(_ colors: [SamplePlane], alpha: SamplePlane, _ size: PixelSize) throws(CodecFailure) -> PlanarImage {
        let result = try PlanarImage(uninitialized: size, hasAlpha: true), from = colors + [alpha], to = result.planes
        try withTables(planes: 4, stride: alpha.stride) { columns, rows, scratch in
            let starts = from.map { Optional(UnsafePointer($0.start)) }, results = to.map { Optional($0.start) }
            larder_resample_alpha(starts, alpha.stride, columns, rows, results, to[0].stride, scratch)
        }
        for plane in to { plane.padEdges() }
        return result
    }

    /// Whether samples are only moved.
    var isCopy: Bool { columns.taps == 1 && rows.taps == 1 }

    /// Calls `body` with the tables and scratch memory for planes of a stride.
    private func withTables(
        planes: Int, stride: Int,
        _ body: (larder_filter_table, larder_filter_table, UnsafeMutablePointer<Float>) -> Void
    ) throws(CodecFailure) {
        let bytes = planes * larder_resample_scratch(stride) * MemoryLayout<Float>.size
        guard let memory = aligned_alloc(64, bytes) else { throw CodecFailure.memory }
        defer { free(memory) }
        let scratch = memory.assumingMemoryBound(to: Float.self)
        columns.withTable { columns in rows.withTable { rows in body(columns, rows, scratch) } }
    }
}

extension FilterTable {
    /// Whether the result is a whole plane of that many samples, unchanged.
    fileprivate func isIdentity(of length: Int) -> Bool {
        taps == 1 && count == length && first[0] == 0 && (count == 1 || first[1] == 1)
    }

    fileprivate func withTable(_ body: (larder_filter_table) -> Void) {
        first.withUnsafeBufferPointer { first in
            weights.withUnsafeBufferPointer { weights in
                body(
                    larder_filter_table(
                        count: Int32(count), taps: Int32(taps), first: first.baseAddress, weights: weights.baseAddress))
            }
        }
    }
}
