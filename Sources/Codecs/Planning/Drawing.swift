internal import ImageModel
internal import Transcoder

/// A variant's steps, from the upright original to the encoded image.
struct Drawing: Sendable, Hashable {
    private(set) var steps: [DrawStep] = []
    /// The upright size of the original.
    let original: PixelSize
    /// The size after the steps.
    private(set) var size: PixelSize
    private(set) var hasAlpha: Bool
    /// The most pixels that any step reads or writes, without the first step's input.
    private(set) var largest = 0
    /// Pixels per point.
    private let scale: Double
    /// The border that is trimmed first; nil for none. The further steps, size and transparency are then upper bounds.
    private(set) var trimming: Trimming?

    /// The fields of a variant that determine the steps.
    struct Picture: Sendable, Hashable {
        let thumbnail: Variant.Thumbnail?
        let transforms: [Transform]
        let maxPixelSize: Variant.Thumbnail?
    }

    /// - Throws: `TranscodeError` 401 if a transformer has no result, 203 if the result is too large.
    init(_ variant: Variant, of header: SourceHeader, scale: Double, limits: TranscodeLimits)
        throws(TranscodeError)
    {
        let picture = Picture(
            thumbnail: variant.thumbnail, transforms: variant.transforms, maxPixelSize: variant.maxPixelSize)
        try self.init(picture, trimming: variant.trim, of: header, scale: scale, limits: limits)
    }

    init(
        _ picture: Picture, trimming trim: Trim? = nil, of header: SourceHeader, scale: Double, limits: TranscodeLimits
    ) throws(TranscodeError) {
        original = header.uprightSize
        size = original
        hasAlpha = header.hasAlpha
        self.scale = scale
        if let trim {
            trimming = Trimming(trim, picture, header, scale: scale, limits: limits)
            steps = [.trim(trim)]
        }
        let decoded = trim == nil ? Geometry.decoded : Trimming.decoded
        if let stored = decoded(header, picture.thumbnail, limits.scaleDownBytes) {
            add(.scale(header.orientation >= 5 ? stored.transposed : stored))
        }
        for transform in picture.transforms { try add(transform, limits) }
        let fitted = trim == nil ? Geometry.fitted : Trimming.atMost
        if let box = picture.maxPixelSize, let smaller = fitted(size, box) { add(.scale(smaller)) }
        try limits.checkOutput(size)
    }

    /// The size to which the first step resamples the whole image; nil if it needs every pixel.
    var firstScale: PixelSize? {
        switch steps.first {
        case .scale(let size): size
        case .clear: PixelSize(width: 1, height: 1)
        default: nil
        }
    }

    /// The size to which the image may be shrunk before the first step, at most the original's.
    var neededSize: PixelSize {
        // If one side grows and the other shrinks, both are resampled in one step from every pixel.
        guard let first = firstScale, first.width <= original.width, first.height <= original.height else {
            return original
        }
        return first
    }

    var watermarks: [String] {
        steps.compactMap { if case .watermark(let watermark, _) = $0 { watermark.file } else { nil } }
    }

    /// Whether the only step resamples the whole image.
    var isPlainScale: Bool { steps.count == 1 && firstScale == size }

    private mutating func add(_ step: DrawStep) {
        if case .scale(let new) = step, new == size { return }
        if steps.count > (trimming == nil ? 0 : 1) { largest = max(largest, size.area) }
        size = step.size(of: size)
        hasAlpha = step.hasAlpha(after: hasAlpha)
        largest = max(largest, size.area)
        steps.append(step)
    }

    private mutating func add(_ transform: Transform, _ limits: TranscodeLimits) throws(TranscodeError) {
        switch transform {
        case .resize(let width, let height, let mode, let placement):
            try limits.checkOutput(Geometry.canvas(width: width, height: height, scale: scale))
            resize(Geometry.box(width, height, mode, placement, of: size, scale: scale), mode: mode, placement)
        case .crop(let x, let y, let width, let height):
            let rect = FractionalRect(x: x, y: y, width: width, height: height)
            guard let part = Geometry.crop(rect, scale: scale, of: size) else {
                throw TranscodeError(
                    .transform, "the crop lies outside the image of \(size.text) pixels")
            }
            if part.size != size { add(.crop(part)) }
        case .flip(let horizontal, let vertical):
            if horizontal || vertical { add(.mirror(horizontal: horizontal, vertical: vertical)) }
        case .rotate(let angle, let fitSize):
            try rotate(angle, fitSize: fitSize, limits)
        case .roundCorner(let radius, let corners, let border, let color):
            let frame = RoundedFrame(
                size, radius: radius, corners: corners, borderWidth: border, borderColor: color, scale: scale)
            if trimming != nil || !frame.isPlain(size) { add(.round(frame)) }
        case .tint(let color, let mode):
            // SDWebImage's bound, the smallest step of a Float.
            if color.alpha > 1.19e-7 { add(.tint(color, mode)) }
        case .blur(let radius):
            guard Double(min(size.width, size.height)) >= scale else {
                throw TranscodeError(.transform, "an image of less than a point cannot be blurred")
            }
            if radius > 1.19e-7 { add(.blur(box: BoxBlur.width(radius: radius * scale))) }
        case .filter(let filter): add(.filter(filter))
        case .pad(let top, let left, let bottom, let right, let color):
            try pad(top: top, left: left, bottom: bottom, right: right, color, limits)
        case .watermark(let watermark):
            let margin = Geometry.pixels((watermark.margin * scale).rounded())
            guard watermark.opacity > 0 else { return }
            guard Geometry.space(on: size, margin: margin) != nil else {
                throw TranscodeError(.transform, watermark.noSpace(on: size, margin: margin))
            }
            add(.watermark(watermark, margin: margin))
        case .sharpen(let sigma, let amount):
            if amount > 0 { add(.sharpen(sigma: sigma * scale, amount: amount)) }
        }
    }

    private mutating func pad(
        top: Double, left: Double, bottom: Double, right: Double, _ color: Color?, _ limits: TranscodeLimits
    ) throws(TranscodeError) {
        func pixels(_ points: Double) -> Int { Geometry.pixels((points * scale).rounded()) }
        let canvas = PixelSize(
            width: size.width + pixels(left) + pixels(right), height: size.height + pixels(top) + pixels(bottom))
        try limits.checkOutput(canvas)
        guard canvas != size else { return }
        guard let color, color.alpha > 0 else { return add(.embed(x: pixels(left), y: pixels(top), canvas: canvas)) }
        add(.extend(x: pixels(left), y: pixels(top), canvas: canvas, color))
    }

    /// Crops to `part`, or to the most interesting part of the same size if the gravity names an interest.
    private mutating func cut(to part: PixelRect, _ gravity: Gravity) {
        guard part.size != size else { return }
        if case .interest(let interest) = gravity { add(.smartCrop(part.size, interest)) } else { add(.crop(part)) }
    }

    private mutating func resize(_ box: PointSize, mode: Transform.ScaleMode, _ placement: Transform.Placement) {
        let canvas = Geometry.canvas(width: box.width, height: box.height, scale: scale)
        // A trimmed image may have any shape: count transparent margins, or four times the canvas.
        if trimming != nil {
            hasAlpha = hasAlpha || mode == .aspectFit
            largest = max(largest, canvas.area * (mode == .aspectFill ? 4 : 1))
        }
        let content = Geometry.content(
            of: size, width: box.width * scale, height: box.height * scale, mode: mode, placement)
        guard var content else {
            add(.clear(canvas))
            return
        }
        if mode == .fill {
            add(.scale(canvas))
            return
        }
        // A narrow strip that fills a square would be enlarged to gigapixels, nearly all of them cropped: crop first.
        if content.width > 4 * Double(canvas.width) || content.height > 4 * Double(canvas.height) {
            let part = Geometry.visible(of: size, in: content, on: canvas)
            let factor = (x: content.width / Double(size.width), y: content.height / Double(size.height))
            content = FractionalRect(
                x: content.x + Double(part.x) * factor.x, y: content.y + Double(part.y) * factor.y,
                width: Double(part.width) * factor.x, height: Double(part.height) * factor.y)
            cut(to: part, placement.gravity)
        }
        let drawn = Geometry.drawn(content, on: canvas)
        add(.scale(drawn.size))
        if drawn.width >= canvas.width && drawn.height >= canvas.height {
            let part = PixelRect(x: -drawn.x, y: -drawn.y, width: canvas.width, height: canvas.height)
            cut(to: part, placement.gravity)
        } else {
            add(.embed(x: drawn.x, y: drawn.y, canvas: canvas))
        }
    }

    /// Source: SDWebImage 5.21.5, SDImageRotationTransformer, which first truncates the sides to whole points.
    private mutating func rotate(_ angle: Double, fitSize: Bool, _ limits: TranscodeLimits) throws(TranscodeError) {
        if trimming != nil { hasAlpha = true }
        let points = (
            width: (Double(size.width) / scale).rounded(.down),
            height: (Double(size.height) / scale).rounded(.down)
        )
        guard points.width >= 1, points.height >= 1, angle.isFinite else {
            throw TranscodeError(.transform, "an image of less than a point cannot be rotated")
        }
        add(.scale(Geometry.canvas(width: points.width, height: points.height, scale: scale)))
        let canvas = Geometry.rotationCanvas(
            width: points.width, height: points.height, angle: angle, fitSize: fitSize, scale: scale)
        try limits.checkOutput(canvas)
        let rotated = DrawStep.rotate(radians: angle, canvas: canvas)
        guard let count = Geometry.rightAngles(angle, of: size) else { return add(rotated) }
        let turned = count % 2 == 0 ? size : size.transposed
        let margins = (x: canvas.width - turned.width, y: canvas.height - turned.height)
        // With an odd margin the centre is half a pixel off, and no pixel maps to another.
        guard margins.x % 2 == 0, margins.y % 2 == 0 else { return add(rotated) }
        if count != 0 { add(.rot90(count)) }
        if turned != canvas { add(.embed(x: margins.x / 2, y: margins.y / 2, canvas: canvas)) }
    }
}

/// A border that is trimmed before a drawing's steps, which depend on its size.
struct Trimming: Sendable, Hashable {
    let trim: Trim
    private let picture: Drawing.Picture
    private let header: SourceHeader
    private let scale: Double
    private let limits: TranscodeLimits

    init(_ trim: Trim, _ picture: Drawing.Picture, _ header: SourceHeader, scale: Double, limits: TranscodeLimits) {
        self.trim = trim
        self.picture = picture
        self.header = header
        self.scale = scale
        self.limits = limits
    }

    /// The drawing of the part inside the border.
    ///
    /// - Parameter size: of the upright part.
    /// - Throws: `TranscodeError` 401 if a transformer has no result.
    func drawing(of size: PixelSize) throws(TranscodeError) -> Drawing {
        let stored = header.orientation >= 5 ? size.transposed : size
        var part = header
        (part.width, part.height) = (stored.width, stored.height)
        return try Drawing(picture, of: part, scale: scale, limits: limits)
    }

    /// An upper bound of the decoded size of any part, in stored orientation; nil for its own size.
    static func decoded(_ header: SourceHeader, box: Variant.Thumbnail?, limitBytes: Int?) -> PixelSize? {
        // A coder of animated formats replaces the box by the limit's size.
        guard let box, limitBytes == nil else { return nil }
        return atMost(header.storedSize, in: box)
    }

    /// An upper bound of the size of any part fitted into a box; nil for the image's own size.
    static func atMost(_ size: PixelSize, in box: Variant.Thumbnail) -> PixelSize? {
        let most = PixelSize(
            width: max(1, Geometry.pixels(box.width.rounded())), height: max(1, Geometry.pixels(box.height.rounded())))
        if size.width <= most.width && size.height <= most.height { return nil }
        guard box.preserveAspectRatio else { return most }
        return PixelSize(width: min(size.width, most.width), height: min(size.height, most.height))
    }
}
