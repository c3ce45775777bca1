internal import ImageModel

/// The outlines of rounded corners: the kept part of the image, and the border.
struct RoundedFrame: Sendable, Hashable {
    /// The kept part; nil for nothing.
    let clip: RoundedRect?
    let border: Border?

    /// The border fills the area between the outlines, or the whole outer one.
    struct Border: Sendable, Hashable {
        let outer: RoundedRect
        let inner: RoundedRect?
        let color: Color
    }

    /// Lengths are points of `scale` pixels. Source: SDWebImage 5.21.5, SDImageRoundCornerTransformer.
    init(
        _ canvas: PixelSize, radius: Double, corners: Corners, borderWidth: Double, borderColor: Color?, scale: Double
    ) {
        let width = borderWidth * scale
        guard width < Double(min(canvas.width, canvas.height)) / 2 else {
            clip = nil
            border = nil
            return
        }
        clip = RoundedRect(canvas, inset: width, radius: radius * scale, corners: corners)
        // The border's path lies half a pixel inside the clip, with a radius half a point smaller.
        let inset = width.rounded(.down) + 0.5
        let path = RoundedRect(
            canvas, inset: inset, radius: radius > scale / 2 ? (radius - scale / 2) * scale : 0, corners: corners)
        guard let borderColor, width > 0, let path else {
            border = nil
            return
        }
        border = path.stroked(width: width).map { Border(outer: $0.outer, inner: $0.inner, color: borderColor) }
    }

    /// Whether drawing it changes nothing.
    func isPlain(_ canvas: PixelSize) -> Bool { border == nil && clip?.covers(canvas) == true }
}

extension Raster {
    func round(_ frame: RoundedFrame) {
        guard let clip = frame.clip else {
            bytes.update(repeating: 0)
            return
        }
        var (kept, line) = ([Double](), [Double]())
        for y in 0..<height {
            kept = [Double](repeating: 0, count: width)
            clip.addCoverage(ofRow: y, weight: 1, to: &kept)
            line = [Double](repeating: 0, count: frame.border == nil ? 0 : width)
            if let border = frame.border {
                border.outer.addCoverage(ofRow: y, weight: 1, to: &line)
                border.inner?.addCoverage(ofRow: y, weight: -1, to: &line)
            }
            for x in 0..<width {
                let index = y * width + x
                let covered = line.isEmpty ? 0 : max(0, line[x])
                if kept[x] >= 1 - 1e-9 && covered < 1e-9 { continue }
                var pixel = premultiplied(index) * Float(min(1, kept[x]))
                if let color = frame.border?.color, covered > 0 {
                    let source = Self.premultiplied(color) * Float(min(1, covered))
                    pixel = BlendMode.normal.blend(source, over: pixel)
                }
                store(premultiplied: pixel, index)
            }
        }
    }
}
