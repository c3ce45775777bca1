/// The bytes that a plane has for black and white, or for no and all colour.
struct SampleRange: Sendable, Hashable {
    /// A byte is `scale` times the value from 0 to 255, plus `offset`.
    let scale, offset: Float

    /// 0 to 255, as in JPEG.
    static let full = SampleRange(scale: 1, offset: 0)
    /// 16 to 235, as in WebP.
    static let limitedLuma = SampleRange(scale: 219 / 255, offset: 16)
    /// 16 to 240, as in WebP.
    static let limitedChroma = SampleRange(scale: 224 / 255, offset: 128 - 128 * 224 / 255)

    /// The factor, and the number that is added then, which convert bytes of this range to another one.
    func conversion(to range: SampleRange) -> (scale: Float, offset: Float) {
        let scale = range.scale / scale
        return (scale, range.offset - offset * scale)
    }
}
