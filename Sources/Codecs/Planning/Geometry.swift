private import Glibc
internal import ImageModel
internal import Transcoder

/// A rectangle in whole pixels, origin top-left.
struct PixelRect: Sendable, Hashable {
    var x, y, width, height: Int

    var size: PixelSize { PixelSize(width: width, height: height) }
}

/// A rectangle in fractions of pixels.
struct FractionalRect: Sendable, Hashable {
    var x, y, width, height: Double
}

struct PointSize {
    let width, height: Double
}

/// SDWebImage's arithmetic of sizes and rectangles.
enum Geometry {
    /// Clamps lengths so that no number in a variant overflows; far above every edge limit.
    private static let longest = 1e9

    /// A whole number of pixels within `longest`.
    static func pixels(_ value: Double) -> Int { Int(min(max(value, -longest), longest)) }

    /// A canvas in pixels: rounded up, except for floating-point noise.
    static func canvas(width: Double, height: Double, scale: Double) -> PixelSize {
        func side(_ points: Double) -> Int { max(1, pixels((points * scale - 1e-6).rounded(.up))) }
        return PixelSize(width: side(width), height: side(height))
    }

    /// The longer side for a thumbnail box; nil if the image is decoded in full.
    ///
    /// The box is compared with the size before orientation. Source: SDWebImage 5.21.5, SDImageIOCoder.
    static func thumbnailLongestSide(stored: PixelSize, width: Double, height: Double) -> Double? {
        let (pixelWidth, pixelHeight) = (Double(stored.width), Double(stored.height))
        guard width > 0, height > 0, pixelWidth > 0, pixelHeight > 0 else { return nil }
        if pixelWidth <= width && pixelHeight <= height { return nil }
        return pixelWidth / pixelHeight > width / height
            ? max(width, width * pixelHeight / pixelWidth) : max(height, height * pixelWidth / pixelHeight)
    }

    /// The decoded size of a thumbnail, in stored orientation; nil if the image is decoded in full.
    static func thumbnail(stored: PixelSize, box: Variant.Thumbnail) -> PixelSize? {
        let longest = thumbnailLongestSide(stored: stored, width: box.width, height: box.height)
        guard let longest else { return nil }
        guard box.preserveAspectRatio else {
            // SDImageCoderHelper truncates to whole pixels.
            return PixelSize(
                width: max(1, pixels(box.width.rounded(.down))), height: max(1, pixels(box.height.rounded(.down))))
        }
        let ratio = min(1, longest / Double(max(stored.width, stored.height)))
        return PixelSize(
            width: max(1, pixels((Double(stored.width) * ratio).rounded())),
            height: max(1, pixels((Double(stored.height) * ratio).rounded())))
    }

    /// The decoded size in stored orientation, by thumbnail box and decoded byte limit; nil for full size.
    ///
    /// SDWebImage's coders of animated formats replace the box by the limit's size, even if larger. Its coder for other
    /// formats has no limit: there the smaller size applies. Source: SDWebImage 5.21.5, `SDImageIOAnimatedCoder` and
    /// `SDImageIOCoder`.
    static func decoded(_ header: SourceHeader, box: Variant.Thumbnail?, limitBytes: Int?) -> PixelSize? {
        let wanted = box.flatMap { thumbnail(stored: header.storedSize, box: $0) }
        guard let limitBytes else { return wanted }
        let candidate = limited(header.storedSize, bytes: limitBytes, frames: header.frames)
        let limit = Variant.Thumbnail(width: Double(candidate.width), height: Double(candidate.height))
        let size = thumbnail(stored: header.storedSize, box: limit)
        if header.format.limitReplacesThumbnail { return size }
        guard let limited = size else { return wanted }
        return wanted.map { $0.area <= limited.area ? $0 : limited } ?? limited
    }

    /// The largest size of the same aspect ratio whose frames together take at most `bytes`; may exceed the image's.
    /// Source: SDWebImage 5.21.5, SDImageCoderHelper.
    static func limited(_ size: PixelSize, bytes: Int, frames: Int) -> PixelSize {
        let pixels = Double(bytes / 4 / max(1, frames))
        let ratio = Double(size.height) / Double(size.width)
        let width = (pixels / ratio).squareRoot()
        return PixelSize(
            width: max(1, Self.pixels(width.rounded(.down))),
            height: max(1, Self.pixels((width * ratio).rounded(.down))))
    }

    /// The size of an image shrunk into a box with its aspect ratio; nil if it already fits.
    static func fitted(_ size: PixelSize, into box: Variant.Thumbnail) -> PixelSize? {
        thumbnail(stored: size, box: Variant.Thumbnail(width: box.width, height: box.height))
    }

    /// The size to resize to: the given size, or the part of it that an image covers without enlarging. `aspectFit`
    /// leaves the rest transparent.
    static func box(
        _ width: Double, _ height: Double, _ mode: Transform.ScaleMode, _ placement: Transform.Placement,
        of image: PixelSize, scale: Double
    ) -> PointSize {
        if placement.enlarges || mode == .aspectFit { return PointSize(width: width, height: height) }
        return PointSize(
            width: min(width, Double(image.width) / scale), height: min(height, Double(image.height) / scale))
    }

    /// The canvas rectangle into which the whole resized image is drawn; nil if nothing is drawn.
    ///
    /// Source: SDWebImage 5.21.5, SDImageResizingTransformer and SDCGRectFitWithScaleMode.
    static func content(
        of image: PixelSize, width: Double, height: Double, mode: Transform.ScaleMode,
        _ placement: Transform.Placement = Transform.Placement()
    ) -> FractionalRect? {
        if mode == .fill { return FractionalRect(x: 0, y: 0, width: width, height: height) }
        let (imageWidth, imageHeight) = (Double(image.width), Double(image.height))
        guard min(imageWidth, imageHeight, width, height) >= 0.01 else { return nil }
        let (horizontal, vertical) = (width / imageWidth, height / imageHeight)
        var scale = mode == .aspectFit ? min(horizontal, vertical) : max(horizontal, vertical)
        if !placement.enlarges { scale = min(scale, 1) }
        let size = (width: imageWidth * scale, height: imageHeight * scale)
        if case .point(let x, let y) = placement.gravity, mode == .aspectFill, placement.gravity != .center {
            // The point lies in the middle, as far as the image covers the canvas.
            return FractionalRect(
                x: min(0, max(width - size.width, width / 2 - x * size.width)),
                y: min(0, max(height - size.height, height / 2 - y * size.height)),
                width: size.width, height: size.height)
        }
        return FractionalRect(
            x: (width - size.width) / 2, y: (height - size.height) / 2, width: size.width, height: size.height)
    }

    /// The whole pixels drawn for `content`: no gap at an edge that the image covers, and at most half a pixel off
    /// where the canvas stays transparent.
    static func drawn(_ content: FractionalRect, on canvas: PixelSize) -> PixelRect {
        let horizontal = extent(content.x, content.width, side: canvas.width)
        let vertical = extent(content.y, content.height, side: canvas.height)
        return PixelRect(x: horizontal.start, y: vertical.start, width: horizontal.length, height: vertical.length)
    }

    private static func extent(_ start: Double, _ length: Double, side: Int) -> (start: Int, length: Int) {
        let noise = 1e-6
        if start <= noise && start + length >= Double(side) - 1 + noise {
            // The side is covered: round outwards.
            let first = min(0, pixels((start + noise).rounded(.down)))
            return (first, max(side, pixels((start + length - noise).rounded(.up))) - first)
        }
        let whole = min(max(1, pixels(length.rounded())), side)
        return (min(max(0, pixels(start.rounded())), side - whole), whole)
    }

    /// An image's size inside its margins; nil if no pixel is left.
    static func space(on image: PixelSize, margin: Int) -> PixelSize? {
        let space = PixelSize(width: image.width - 2 * margin, height: image.height - 2 * margin)
        return space.width > 0 && space.height > 0 ? space : nil
    }

    /// A watermark's position on an image; nil if the margins leave no pixel.
    static func place(
        _ watermark: Watermark, _ mark: PixelSize, on image: PixelSize, margin: Int
    ) -> PixelRect? {
        guard let space = space(on: image, margin: margin), case .point(let x, let y) = watermark.position else {
            return nil
        }
        let (width, height) = (Double(mark.width), Double(mark.height))
        let wanted = watermark.scale.map { $0 * Double(image.width) / width } ?? 1
        let factor = min(wanted, Double(space.width) / width, Double(space.height) / height)
        let size = PixelSize(
            width: max(1, pixels((width * factor).rounded())), height: max(1, pixels((height * factor).rounded())))
        return PixelRect(
            x: margin + pixels((x * Double(space.width - size.width)).rounded()),
            y: margin + pixels((y * Double(space.height - size.height)).rounded()), width: size.width,
            height: size.height)
    }

    /// The visible part of `image`, in whole pixels, if only part of `content` lies on the canvas.
    static func visible(of image: PixelSize, in content: FractionalRect, on canvas: PixelSize) -> PixelRect {
        func part(_ start: Double, _ length: Double, side: Int, pixels count: Int) -> (start: Int, length: Int) {
            let scale = length / Double(count)
            let first = min(max(0, pixels((-start / scale).rounded(.down))), count - 1)
            let last = min(count, max(first + 1, pixels(((Double(side) - start) / scale).rounded(.up))))
            return (first, last - first)
        }
        let horizontal = part(content.x, content.width, side: canvas.width, pixels: image.width)
        let vertical = part(content.y, content.height, side: canvas.height, pixels: image.height)
        return PixelRect(x: horizontal.start, y: vertical.start, width: horizontal.length, height: vertical.length)
    }

    /// The pixels of a crop: the rectangle grown to whole pixels and clipped to the image; nil if nothing is left.
    ///
    /// Source: SDWebImage 5.21.5, SDImageCroppingTransformer; the result is not padded to the requested size.
    static func crop(_ rect: FractionalRect, scale: Double, of image: PixelSize) -> PixelRect? {
        let left = max(0, pixels((rect.x * scale).rounded(.down)))
        let top = max(0, pixels((rect.y * scale).rounded(.down)))
        let right = min(image.width, pixels(((rect.x + rect.width) * scale).rounded(.up)))
        let bottom = min(image.height, pixels(((rect.y + rect.height) * scale).rounded(.up)))
        guard rect.width > 0, rect.height > 0, left < right, top < bottom else { return nil }
        return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
    }

    /// The canvas of a rotated image in whole points: its bounding box, or its own size.
    static func rotationCanvas(
        width: Double, height: Double, angle: Double, fitSize: Bool, scale: Double
    ) -> PixelSize {
        guard fitSize else { return canvas(width: width, height: height, scale: scale) }
        let (cosine, sine) = (abs(cos(angle)), abs(sin(angle)))
        return canvas(width: width * cosine + height * sine, height: width * sine + height * cosine, scale: scale)
    }

    /// The number of right angles, 0…3 counter-clockwise; nil if the angle differs from one by more than a millionth of
    /// a pixel at the far side.
    static func rightAngles(_ angle: Double, of size: PixelSize) -> Int? {
        let turns = angle / (.pi / 2)
        let whole = turns.rounded()
        guard abs(whole) < 1e9, abs(turns - whole) * Double(max(size.width, size.height)) < 1e-6 else { return nil }
        return (Int(whole) % 4 + 4) % 4
    }
}
