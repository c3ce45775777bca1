internal import ImageModel

/// A drawing that only shrinks, crops and mirrors: the visible part of an image and its scale.
struct PlaneView: Sendable, Hashable {
    /// The size of the whole resampled image.
    private(set) var scaled: PixelSize
    /// The kept part of it.
    private(set) var window: PixelRect
    /// Whether columns or rows are reversed.
    var mirrorsColumns = false, mirrorsRows = false

    init(whole size: PixelSize) {
        scaled = size
        window = PixelRect(x: 0, y: 0, width: size.width, height: size.height)
    }

    /// The view for the leading steps that resample without enlarging, then crop and mirror; `rest` are the others.
    init(_ steps: [DrawStep], of size: PixelSize, rest: inout ArraySlice<DrawStep>) {
        self.init(whole: size)
        rest = steps[...]
        while let step = rest.first, add(step) { rest.removeFirst() }
    }

    /// False if the view cannot represent the step.
    private mutating func add(_ step: DrawStep) -> Bool {
        let isWhole = window.size == scaled && !mirrorsColumns && !mirrorsRows
        switch step {
        case .scale(let smaller):
            guard isWhole, smaller.width <= scaled.width, smaller.height <= scaled.height else { return false }
            self = PlaneView(whole: smaller)
        case .crop(let part):
            window = PixelRect(x: window.x + part.x, y: window.y + part.y, width: part.width, height: part.height)
        case .mirror(let horizontal, let vertical):
            // The window is counted from the side where the mirrored image begins.
            if horizontal {
                mirrorsColumns.toggle()
                window.x = scaled.width - window.x - window.width
            }
            if vertical {
                mirrorsRows.toggle()
                window.y = scaled.height - window.y - window.height
            }
        default: return false
        }
        return true
    }
}

extension FilterTable {
    /// The filter of one axis of a view.
    ///
    /// - Parameters:
    ///   - exact: the image's exact size in the plane's samples; `length` is the same in whole samples.
    ///   - scaled: the resampled image's size in pixels.
    ///   - offset, pixels: the kept part of it.
    ///   - factor: pixels per output sample.
    init(
        exact: Double, length: Int, scaled: Int, offset: Int, pixels: Int, factor: Int, isMirrored: Bool
    ) {
        let scale = exact / Double(scaled)
        // The centre of the first sample, from the image's edge. An image of odd size ends within its last chroma
        // sample at the right and bottom, even if mirrored.
        let first = (Double(offset) + Double(factor) / 2) * scale
        self.init(
            count: (pixels + factor - 1) / factor, length: length, start: (isMirrored ? exact - first : first) - 0.5,
            step: Double(isMirrored ? -factor : factor) * scale)
    }
}
