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

    /// Resamples a plane to that of an image of `size` with `factor` pixels per sample.
    func resample(_ plane: SamplePlane, _ size: PixelSize, factor: Int) throws(CodecFailure) -> SamplePlane {
        if columns.isIdentity(of: plane.width) && rows.isIdentity(of: plane.height) { return plane }
        let result = try SamplePlane(size, factor: factor)
        let floats = larder_resample_scratch(plane.stride)
        guard let scratch = aligned_alloc(64, floats * MemoryLayout<Float>.size) else { throw CodecFailure.memory }
        defer { free(scratch) }
        columns.withTable { columns in
            rows.withTable { rows in
                larder_resample(
                    plane.start, plane.stride, columns, rows, result.start, result.stride,
                    scratch.assumingMemoryBound(to: Float.self))
            }
        }
        result.padEdges()
        return result
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
