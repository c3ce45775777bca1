private import CGLib

extension Transform {
    /// The transformer's key, exactly as SDWebImage spells it.
    ///
    /// A filter's key holds its name, and its parameters where there are any. From SDWebImage 5.21.5, SDImageTransformer.
    public var key: String {
        switch self {
        case .resize(let width, let height, let mode):
            "SDImageResizingTransformer({\(fixed(width)),\(fixed(height))},\(mode.rawValue))"
        case .crop(let x, let y, let width, let height):
            "SDImageCroppingTransformer({\(fixed(x)),\(fixed(y)),\(fixed(width)),\(fixed(height))})"
        case .flip(let horizontal, let vertical):
            "SDImageFlippingTransformer(\(digit(horizontal)),\(digit(vertical)))"
        case .rotate(let angle, let fitSize):
            "SDImageRotationTransformer(\(fixed(angle)),\(digit(fitSize)))"
        case .roundCorner(let radius, let corners, let border, let color):
            "SDImageRoundCornerTransformer(\(fixed(radius)),\(corners.rawValue),\(fixed(border)),"
                + "\(color?.text ?? "(null)"))"
        case .tint(let color, let mode):
            "SDImageTintTransformer(\(color.text),\(mode.rawValue))"
        case .blur(let radius):
            "SDImageBlurTransformer(\(fixed(radius)))"
        case .filter(let filter):
            "SDImageFilterTransformer(\(filter.text))"
        }
    }
}

/// C's `%f` whatever the locale: six decimals, half to even on the exact binary value, the sign of -0.0 kept.
/// The corresponding C function is `g_ascii_formatd`.
func fixed(_ value: Double) -> String {
    // The longest double has 309 digits before the point.
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 400) { buffer in
        guard let start = buffer.baseAddress else { return "" }
        g_ascii_formatd(start, 400, "%f", value)
        return String(cString: start)
    }
}

func digit(_ flag: Bool) -> String { flag ? "1" : "0" }
