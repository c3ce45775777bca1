private import CPlanes
private import Glibc

/// One plane of 8-bit samples in memory. Written once, by whoever makes it, then shared and read.
///
/// Rows are a whole number of registers long, and go on with their last sample to a whole number of JPEG's blocks.
final class SamplePlane {
    /// The samples that count, from the first row's first.
    let width, height: Int
    /// The exact size of the picture in these samples: an odd picture ends within its last sample of chroma.
    let across, down: Double
    /// Bytes from one row to the next.
    let stride: Int
    /// The first row.
    let start: UnsafeMutablePointer<UInt8>

    /// Room for a plane; its bytes are anything.
    ///
    /// - Parameters:
    ///   - columns, rows: the room its maker needs, where that is more than the samples that count.
    /// - Throws: `PlaneFailure` when there is no memory.
    init(width: Int, height: Int, across: Double, down: Double, columns: Int = 0, rows: Int = 0) throws(PlaneFailure) {
        let alignment = Int(larder_row_alignment)
        let stride = (max(width, columns) + alignment - 1) / alignment * alignment
        guard let memory = aligned_alloc(alignment, stride * max(height, rows)) else { throw PlaneFailure.memory }
        (self.width, self.height, self.across, self.down) = (width, height, across, down)
        self.stride = stride
        start = memory.assumingMemoryBound(to: UInt8.self)
    }

    deinit { free(start) }

    /// One sample throughout, for the chroma of a grey picture: it has any size.
    static func neutral() throws(PlaneFailure) -> SamplePlane {
        let plane = try SamplePlane(width: 1, height: 1, across: 1, down: 1)
        plane.start[0] = 128
        plane.continueRows()
        return plane
    }

    /// Lets every row go on with its last sample as far as a block does.
    func continueRows() {
        let end = (width + 7) / 8 * 8
        guard end > width else { return }
        for y in 0..<height {
            let row = start + y * stride
            for x in width..<end { row[x] = row[width - 1] }
        }
    }

    /// Rows become columns.
    func transposed() throws(PlaneFailure) -> SamplePlane {
        let turned = try SamplePlane(width: height, height: width, across: down, down: across)
        // In squares, so that both sides stay in the processor's cache.
        let side = 16
        for top in Swift.stride(from: 0, to: height, by: side) {
            for left in Swift.stride(from: 0, to: width, by: side) {
                for x in left..<min(left + side, width) {
                    let column = start + x, row = turned.start + x * turned.stride
                    for y in top..<min(top + side, height) { row[y] = column[y * stride] }
                }
            }
        }
        turned.continueRows()
        return turned
    }
}

/// A step on planes that failed.
struct PlaneFailure: Error {
    /// For people only.
    let message: String

    static let memory = PlaneFailure(message: "there is no memory")

    /// The failure as the stage it happened in counts it.
    func `as`(_ code: TranscodeError.Code, _ what: String) -> TranscodeError {
        TranscodeError(code, "\(what): \(message)")
    }
}
