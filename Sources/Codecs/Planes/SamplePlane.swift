private import CPlanes
private import Glibc
internal import ImageModel

/// One plane of 8-bit samples. Its creator writes it once; then it is shared and read-only.
///
/// The stride is a multiple of the vector registers. Rows repeat their last sample up to a multiple of JPEG's blocks,
/// except in limited range.
final class SamplePlane {
    /// In whole samples.
    let width, height: Int
    /// The image's size in these samples: an image of odd size ends within its last chroma sample.
    let exactWidth, exactHeight: Double
    let range: SampleRange
    /// Bytes from one row to the next.
    let stride: Int
    let start: UnsafeMutablePointer<UInt8>

    /// Allocates a plane with undefined samples.
    ///
    /// - Parameters:
    ///   - columns, rows: space for the creator, if larger than the size.
    /// - Throws: `CodecFailure` if out of memory.
    init(
        width: Int, height: Int, exactWidth: Double, exactHeight: Double, columns: Int = 0, rows: Int = 0,
        range: SampleRange = .full
    ) throws(CodecFailure) {
        let alignment = Int(larder_row_alignment)
        var stride = (max(width, columns) + alignment - 1) / alignment * alignment
        // Otherwise a column's samples share few cache lines: a quarter slower.
        if stride % 4096 == 0 { stride += alignment }
        guard let memory = aligned_alloc(alignment, stride * max(height, rows)) else { throw CodecFailure.memory }
        (self.width, self.height, self.exactWidth, self.exactHeight) = (width, height, exactWidth, exactHeight)
        (self.stride, self.range) = (stride, range)
        start = memory.assumingMemoryBound(to: UInt8.self)
    }

    /// Allocates a plane for an image of `size`.
    ///
    /// - Parameter factor: pixels per sample in each direction.
    convenience init(_ size: PixelSize, factor: Int = 1, range: SampleRange = .full) throws(CodecFailure) {
        try self.init(
            width: (size.width + factor - 1) / factor, height: (size.height + factor - 1) / factor,
            exactWidth: Double(size.width) / Double(factor), exactHeight: Double(size.height) / Double(factor),
            range: range)
    }

    deinit { free(start) }

    func row(_ y: Int) -> UnsafeMutablePointer<UInt8> { start + y * stride }

    /// A grey image's chroma.
    ///
    /// - Parameter factor: pixels per sample in each direction.
    static func neutral(_ size: PixelSize, factor: Int, _ range: SampleRange) throws(CodecFailure) -> SamplePlane {
        let plane = try SamplePlane(size, factor: factor, range: range)
        plane.start.update(repeating: 128, count: plane.stride * plane.height)
        return plane
    }

    /// Maps each sample through a table into a plane of the same size, which may be this one.
    func map(_ table: [UInt8], into target: SamplePlane) {
        table.withUnsafeBufferPointer { table in
            for y in 0..<height {
                let from = row(y), to = target.row(y)
                for x in 0..<width { to[x] = table[Int(from[x])] }
            }
        }
    }

    /// Repeats each row's last sample up to the end of its block.
    func padEdges() {
        let end = (width + 7) / 8 * 8
        guard end > width else { return }
        for y in 0..<height {
            let row = start + y * stride
            for x in width..<end { row[x] = row[width - 1] }
        }
    }

    func transposed() throws(CodecFailure) -> SamplePlane {
        let result = try SamplePlane(
            width: height, height: width, exactWidth: exactHeight, exactHeight: exactWidth, range: range)
        // In tiles, so that both sides stay in the processor's cache.
        let side = 16
        for top in Swift.stride(from: 0, to: height, by: side) {
            for left in Swift.stride(from: 0, to: width, by: side) {
                for x in left..<min(left + side, width) {
                    let column = start + x, row = result.start + x * result.stride
                    for y in top..<min(top + side, height) { row[y] = column[y * stride] }
                }
            }
        }
        result.padEdges()
        return result
    }
}

/// The byte values for black and white, or for no and full colour.
struct SampleRange: Sendable, Hashable {
    /// byte = `scale` × value (0…255) + `offset`.
    let scale, offset: Float

    /// 0 to 255, as in JPEG.
    static let full = SampleRange(scale: 1, offset: 0)
    /// 16 to 235, as in WebP.
    static let limitedLuma = SampleRange(scale: 219 / 255, offset: 16)
    /// 16 to 240, as in WebP.
    static let limitedChroma = SampleRange(scale: 224 / 255, offset: 128 - 128 * 224 / 255)

    /// The factor and offset that convert bytes of this range to another.
    func conversion(to range: SampleRange) -> (scale: Float, offset: Float) {
        let scale = range.scale / scale
        return (scale, range.offset - offset * scale)
    }
}
