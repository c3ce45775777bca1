package import ImageModel

/// What of a picture a drawing shows, and how large: all a plain shrinking drawing asks for.
package struct PlaneView: Sendable, Hashable {
    /// The size the whole picture is resampled to.
    package private(set) var scaled: PixelSize
    /// The part of that which is left.
    package private(set) var window: PixelRect
    /// Whether columns, rows or both come in the opposite order.
    package var mirrorsColumns = false, mirrorsRows = false

    package init(whole size: PixelSize) {
        scaled = size
        window = PixelRect(x: 0, y: 0, width: size.width, height: size.height)
    }

    /// The view that a list of steps gives of a picture of `size`; nil where they are anything but resampling without
    /// enlarging and then cutting.
    package init?(_ steps: [DrawStep], of size: PixelSize) {
        self.init(whole: size)
        var isCut = false
        for step in steps {
            switch step {
            case .scale(let smaller):
                guard !isCut, smaller.width <= scaled.width, smaller.height <= scaled.height else { return nil }
                self = PlaneView(whole: smaller)
            case .crop(let part):
                isCut = true
                window = PixelRect(
                    x: window.x + part.x, y: window.y + part.y, width: part.width, height: part.height)
            default: return nil
            }
        }
    }
}

extension PlaneAxis {
    /// An axis of a view.
    ///
    /// - Parameters:
    ///   - extent: the picture's exact size in the plane's samples, `length` in whole ones.
    ///   - scaled: the size the picture is resampled to, in pixels.
    ///   - offset, pixels: the part of that which is left.
    ///   - span: pixels a sample of the result spans.
    package init(
        extent: Double, length: Int, scaled: Int, offset: Int, pixels: Int, span: Int, isMirrored: Bool
    ) {
        let scale = extent / Double(scaled)
        // The centre of the first sample, from the picture's edge. An odd picture ends within its last sample of
        // chroma on the right and below, whichever end of the plane that is.
        let first = (Double(offset) + Double(span) / 2) * scale
        self.init(
            count: (pixels + span - 1) / span, length: length, start: (isMirrored ? extent - first : first) - 0.5,
            step: Double(isMirrored ? -span : span) * scale)
    }
}
