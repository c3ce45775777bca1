package import ImageModel

/// One thing done to pixels. A variant is a list of these, worked out before any pixel exists.
package enum DrawStep: Sendable, Hashable {
    /// Resampled to exactly this size.
    case scale(PixelSize)
    /// The part inside a rectangle that lies within the picture.
    case crop(PixelRect)
    /// Placed on a transparent canvas, which may cut it.
    case place(x: Int, y: Int, canvas: PixelSize)
    /// Nothing drawn: a transparent canvas.
    case clear(PixelSize)
    /// Mirrored left-right, top-bottom, or both.
    case mirror(horizontal: Bool, vertical: Bool)
    /// Turned by right angles, counter-clockwise, 1 to 3.
    case quarters(Int)
    /// Turned counter-clockwise about the centre, onto a transparent canvas of that size with the same centre.
    case turn(radians: Double, canvas: PixelSize)
    /// Corners cut and a border drawn.
    case round(RoundedFrame)
    /// A colour laid over the canvas.
    case tint(Color, BlendMode)
    /// Three passes of a box of that width.
    case blur(box: Int)
    /// A filter in linear light.
    case filter(Filter)

    /// The size after it, from the size before.
    func size(of before: PixelSize) -> PixelSize {
        switch self {
        case .scale(let size), .clear(let size), .place(_, _, let size), .turn(_, let size): size
        case .crop(let rect): rect.size
        case .quarters(let count): count % 2 == 0 ? before : before.turned
        case .mirror, .round, .tint, .blur, .filter: before
        }
    }

    /// Whether there is transparency after it.
    func hasAlpha(after before: Bool) -> Bool {
        switch self {
        case .place, .clear, .turn, .round: true
        case .tint(let color, let mode): before || !mode.keepsOpaque(under: color.alpha)
        case .scale, .crop, .mirror, .quarters, .blur, .filter: before
        }
    }
}
