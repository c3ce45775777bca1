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

    /// What the samples of this range times `scale`, plus `offset`, are in another range.
    func conversion(to range: SampleRange) -> SampleRange {
        let scale = range.scale / scale
        return SampleRange(scale: scale, offset: range.offset - offset * scale)
    }
}
