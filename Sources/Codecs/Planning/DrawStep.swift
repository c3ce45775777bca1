internal import ImageModel

/// One operation on pixels. A variant's steps are computed before any pixel exists.
enum DrawStep: Sendable, Hashable {
    /// Trims a border of one colour. Later steps depend on the remaining size: `Drawing.trimming`.
    case trim(Trim)
    /// Resamples to exactly this size.
    case scale(PixelSize)
    /// Keeps a rectangle within the image.
    case crop(PixelRect)
    /// Keeps the most interesting part of a given size.
    case smartCrop(PixelSize, Gravity.Interest)
    /// Places the image on a coloured canvas without cropping it.
    case extend(x: Int, y: Int, canvas: PixelSize, Color)
    /// Raises the contrast of lightness.
    case sharpen(sigma: Double, amount: Double)
    /// Draws another image over it, `margin` pixels from the edges.
    case watermark(Watermark, margin: Int)
    /// Places the image on a transparent canvas, which may crop it.
    case embed(x: Int, y: Int, canvas: PixelSize)
    /// Replaces the image by a transparent canvas.
    case clear(PixelSize)
    /// Mirrors left-right, top-bottom, or both.
    case mirror(horizontal: Bool, vertical: Bool)
    /// Rotates counter-clockwise by 90° times 1 to 3.
    case rot90(Int)
    /// Rotates counter-clockwise about the centre, onto a transparent canvas with the same centre.
    case rotate(radians: Double, canvas: PixelSize)
    /// Cuts the corners and draws a border.
    case round(RoundedFrame)
    /// Composites a colour over the canvas.
    case tint(Color, BlendMode)
    /// Blurs by three passes of a box of that width.
    case blur(box: Int)
    /// Applies a filter in linear light.
    case filter(Filter)

    /// The size after the step.
    func size(of before: PixelSize) -> PixelSize {
        switch self {
        case .scale(let size), .clear(let size), .embed(_, _, let size), .rotate(_, let size),
            .smartCrop(let size, _), .extend(_, _, let size, _):
            size
        case .crop(let rect): rect.size
        case .rot90(let count): count % 2 == 0 ? before : before.transposed
        case .trim, .mirror, .round, .tint, .blur, .filter, .sharpen, .watermark: before
        }
    }

    /// Whether the result has transparency.
    func hasAlpha(after before: Bool) -> Bool {
        switch self {
        case .embed, .clear, .rotate, .round: true
        case .tint(let color, let mode): before || !mode.keepsOpaque(under: color.alpha)
        case .extend(_, _, _, let color): before || color.alpha < 1
        case .trim, .scale, .crop, .smartCrop, .mirror, .rot90, .blur, .filter, .sharpen, .watermark: before
        }
    }

    /// Estimated nanoseconds per pixel.
    var nanoseconds: Double {
        switch self {
        case .trim: 350
        case .scale: 20
        case .crop, .embed, .extend, .clear, .mirror, .rot90: 2
        case .smartCrop: 40
        case .sharpen: 90
        case .watermark: 30
        case .rotate: 130
        case .round: 10
        case .tint: 30
        case .blur: 60
        case .filter: 40
        }
    }

    /// `scale to 200×100`.
    var text: String {
        switch self {
        case .trim(let trim): trim.text
        case .scale(let size): "scale to \(size.text)"
        case .crop(let rect): "crop \(rect.size.text) at \(rect.x),\(rect.y)"
        case .smartCrop(let size, let interest): "crop \(size.text) by \(interest.rawValue)"
        case .extend(let x, let y, let canvas, let color): "place at \(x),\(y) on \(canvas.text) of \(color.text)"
        case .watermark(let watermark, _): "watermark \(watermark.file)"
        case .sharpen(let sigma, let amount): "sharpen by \(amount) within \(sigma)"
        case .embed(let x, let y, let canvas): "embed at \(x),\(y) on \(canvas.text)"
        case .clear(let canvas): "clear \(canvas.text)"
        case .mirror(let horizontal, let vertical):
            "mirror "
                + [horizontal ? "left-right" : nil, vertical ? "top-bottom" : nil].compactMap(\.self)
                .joined(separator: " and ")
        case .rot90(let count): "rotate \(count * 90)° counter-clockwise"
        case .rotate(let radians, let canvas): "rotate \(radians) on \(canvas.text)"
        case .round: "round corners"
        case .tint(let color, let mode): "tint \(color.text) \(mode.name)"
        case .blur(let box): "blur by three boxes of \(box)"
        case .filter(let filter): "filter \(filter.text)"
        }
    }
}
