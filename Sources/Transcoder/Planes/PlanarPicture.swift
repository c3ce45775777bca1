internal import ImageModel

/// An opaque picture as luma and two planes of chroma: full range, by JFIF's matrix.
package struct PlanarPicture {
    /// How large the planes of chroma are.
    package enum Chroma: Sendable, Hashable {
        /// As luma: 4:4:4.
        case full
        /// Half of luma in each direction, rounded up: 4:2:0.
        case halved

        /// Pixels a sample spans.
        var span: Int { self == .full ? 1 : 2 }
    }

    /// In pixels.
    let size: PixelSize
    let luma, blue, red: SamplePlane

    /// The planes in their usual order.
    var planes: [SamplePlane] { [luma, blue, red] }

    /// Rows become columns.
    func transposed() throws(PlaneFailure) -> PlanarPicture {
        PlanarPicture(
            size: size.turned, luma: try luma.transposed(), blue: try blue.transposed(), red: try red.transposed())
    }
}
