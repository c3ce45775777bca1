/// One thing done to pixels. A variant is a list of these, worked out before any pixel exists.
package enum DrawStep: Sendable, Hashable {
    /// Resampled to exactly this size.
    case scale(PixelSize)
    /// The part inside a rectangle that lies within the picture.
    case crop(PixelRect)
    /// Placed on a larger transparent canvas.
    case place(x: Int, y: Int, canvas: PixelSize)
    /// Nothing drawn: a transparent canvas.
    case clear(PixelSize)
}

/// What to do for one variant, from the upright full picture to the one that is encoded.
package struct Drawing: Sendable, Hashable {
    package private(set) var steps: [DrawStep] = []
    /// The size after the steps.
    package private(set) var size: PixelSize

    /// Works out a variant.
    ///
    /// - Throws: `TranscodeError` 401 where a transformer gives nothing, 203 where the result is too large.
    package init(_ variant: Variant, of header: SourceHeader, scale: Double, limits: TranscodeLimits)
        throws(TranscodeError)
    {
        size = header.uprightSize
        if let box = variant.thumbnail, let stored = Geometry.thumbnail(stored: header.storedSize, box: box) {
            add(.scale(header.orientation >= 5 ? stored.turned : stored))
        }
        for transform in variant.transforms {
            switch transform {
            case .resize(let width, let height, let mode):
                try limits.checkOutput(Geometry.canvas(width: width, height: height, scale: scale))
                resize(width: width, height: height, mode: mode, scale: scale)
            case .crop(let x, let y, let width, let height):
                let rect = FractionalRect(x: x, y: y, width: width, height: height)
                guard let part = Geometry.crop(rect, scale: scale, of: size) else {
                    throw TranscodeError(
                        .transform, "the crop lies outside the picture of \(size.width)x\(size.height) pixels")
                }
                if part.size != size { add(.crop(part)) }
            case .flip, .rotate, .roundCorner, .tint, .blur, .filter:
                throw TranscodeError(.transform, "\(transform.typeName) is not supported yet")
            }
        }
        try limits.checkOutput(size)
    }

    /// The size the first resampling makes of the whole picture; nil when the first step needs every pixel.
    var firstScale: PixelSize? {
        switch steps.first {
        case .scale(let size): size
        case .clear: PixelSize(width: 1, height: 1)
        case .crop, .place, nil: nil
        }
    }

    private mutating func add(_ step: DrawStep) {
        switch step {
        case .scale(let new), .clear(let new), .place(_, _, let new):
            if case .scale = step, new == size { return }
            size = new
        case .crop(let rect): size = rect.size
        }
        steps.append(step)
    }

    private mutating func resize(width: Double, height: Double, mode: Transform.ScaleMode, scale: Double) {
        let canvas = Geometry.canvas(width: width, height: height, scale: scale)
        guard var content = Geometry.content(of: size, width: width * scale, height: height * scale, mode: mode) else {
            add(.clear(canvas))
            return
        }
        if mode == .fill {
            add(.scale(canvas))
            return
        }
        // A narrow strip that fills a square would be blown up to a picture of gigapixels, nearly all of it cut
        // again: cut it before.
        if content.width > 4 * Double(canvas.width) || content.height > 4 * Double(canvas.height) {
            let part = Geometry.visible(of: size, in: content, on: canvas)
            let factor = (x: content.width / Double(size.width), y: content.height / Double(size.height))
            content = FractionalRect(
                x: content.x + Double(part.x) * factor.x, y: content.y + Double(part.y) * factor.y,
                width: Double(part.width) * factor.x, height: Double(part.height) * factor.y)
            if part.size != size { add(.crop(part)) }
        }
        let drawn = Geometry.drawn(content, on: canvas)
        add(.scale(drawn.size))
        if drawn.width >= canvas.width && drawn.height >= canvas.height {
            let part = PixelRect(x: -drawn.x, y: -drawn.y, width: canvas.width, height: canvas.height)
            if drawn.size != canvas { add(.crop(part)) }
        } else {
            add(.place(x: drawn.x, y: drawn.y, canvas: canvas))
        }
    }
}
