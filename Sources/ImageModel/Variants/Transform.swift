/// One of SDWebImage's or Larder's transformers with its parameters. Lengths are points, angles radians.
package enum Transform: Sendable, Hashable {
    /// Draws the whole image into `width` × `height`.
    case resize(width: Double, height: Double, scaleMode: ScaleMode, Placement)
    /// Keeps the part inside a rectangle; the origin is at the top left.
    case crop(x: Double, y: Double, width: Double, height: Double)
    /// Mirrors left-right, top-bottom, or both.
    case flip(horizontal: Bool, vertical: Bool)
    /// Rotates counter-clockwise about the centre; `fitSize` grows the canvas to the bounding box.
    case rotate(angle: Double, fitSize: Bool)
    /// Rounds corners and draws a border if a colour is given.
    case roundCorner(radius: Double, corners: Corners, borderWidth: Double, borderColor: Color?)
    /// Composites a colour over the image.
    case tint(color: Color, blendMode: BlendMode)
    /// Blurs; radius 0 changes nothing.
    case blur(radius: Double)
    /// Applies a Core Image filter.
    case filter(Filter)
    /// Adds margins, transparent without a colour. Larder's own.
    case pad(top: Double, left: Double, bottom: Double, right: Double, color: Color?)
    /// Raises the contrast of lightness within a Gaussian of `sigma` points, by a factor of `amount`. Larder's own.
    case sharpen(sigma: Double, amount: Double)

    /// Draws another image over it. Larder's own.
    case watermark(Watermark)

    /// A resized image's position on its canvas, and whether it may be enlarged. Larder's own.
    package struct Placement: Sendable, Hashable {
        /// The part that `aspectFill` keeps; the middle by default.
        package var gravity = Gravity.center
        /// Whether the image may be enlarged; `true` by default.
        package var enlarges = true

        /// SDWebImage's placement.
        package init() {}

        /// In keys after SDWebImage's fields; empty for SDWebImage's placement.
        fileprivate var keyText: String {
            (enlarges ? "" : ",enlarge=0") + (gravity == .center ? "" : ",gravity=\(gravity.keyText)")
        }
    }

    /// How an image fills its new size. Raw values as in SDWebImage.
    package enum ScaleMode: Int, Sendable, Hashable, CaseIterable {
        /// Stretched to the size.
        case fill
        /// As large as fits, the rest transparent.
        case aspectFit
        /// As small as covers, the overflow cropped.
        case aspectFill
    }

    /// The `type` in variant JSON.
    package var typeName: String {
        switch self {
        case .resize: "resize"
        case .crop: "crop"
        case .flip: "flip"
        case .rotate: "rotate"
        case .roundCorner: "roundCorner"
        case .tint: "tint"
        case .blur: "blur"
        case .filter: "filter"
        case .pad: "pad"
        case .sharpen: "sharpen"
        case .watermark: "watermark"
        }
    }

    /// The transformer's key: SDWebImage's if the pixels are equal; otherwise it begins with `Larder`, so that no app
    /// reads them as its own. Source: SDWebImage 5.21.5, SDImageTransformer.
    package var key: String {
        switch self {
        case .resize(let width, let height, let mode, let placement):
            "\(placement == Placement() ? "SDImage" : "Larder")ResizingTransformer("
                + "{\(width.keyText),\(height.keyText)},\(mode.rawValue)\(placement.keyText))"
        case .crop(let x, let y, let width, let height):
            "SDImageCroppingTransformer({\(x.keyText),\(y.keyText),\(width.keyText),\(height.keyText)})"
        case .flip(let horizontal, let vertical):
            "SDImageFlippingTransformer(\(horizontal.keyText),\(vertical.keyText))"
        case .rotate(let angle, let fitSize):
            "SDImageRotationTransformer(\(angle.keyText),\(fitSize.keyText))"
        case .roundCorner(let radius, let corners, let border, let color):
            "SDImageRoundCornerTransformer(\(radius.keyText),\(corners.rawValue),\(border.keyText),"
                + "\(color?.text ?? "(null)"))"
        case .tint(let color, let mode):
            "SDImageTintTransformer(\(color.text),\(mode.rawValue))"
        case .blur(let radius):
            "SDImageBlurTransformer(\(radius.keyText))"
        case .filter(let filter):
            "\(filter.isExact ? "SDImage" : "Larder")FilterTransformer(\(filter.text))"
        case .pad(let top, let left, let bottom, let right, let color):
            "LarderPadTransformer({\(top.keyText),\(left.keyText),\(bottom.keyText),\(right.keyText)},"
                + "\(color?.text ?? "(null)"))"
        case .watermark(let watermark): "LarderWatermarkTransformer(\(watermark.keyText))"
        case .sharpen(let sigma, let amount): "LarderSharpenTransformer(\(sigma.keyText),\(amount.keyText))"
        }
    }
}

/// How a tint is composited. Raw values as in Core Graphics.
package enum BlendMode: Int, Sendable, Hashable, CaseIterable {
    /// PDF's separable modes.
    case normal, multiply, screen, overlay, darken, lighten, colorDodge, colorBurn, softLight, hardLight
    /// PDF's other modes; the last four are not separable.
    case difference, exclusion, hue, saturation, color, luminosity
    /// Porter and Duff's operators. `sourceIn` is a tint's default since SDWebImage 5.20.
    case clear, copy, sourceIn, sourceOut, sourceAtop, destinationOver, destinationIn, destinationOut
    /// The remaining operators and the two sums.
    case destinationAtop, xor, plusDarker, plusLighter

    /// The Core Graphics name in lower camel case.
    package var name: String { "\(self)" }
}

/// The corners to round, as UIKit's bits.
package struct Corners: OptionSet, Sendable, Hashable {
    /// The bits as written in a key.
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static let topLeft = Corners(rawValue: 1)
    package static let topRight = Corners(rawValue: 2)
    package static let bottomLeft = Corners(rawValue: 4)
    package static let bottomRight = Corners(rawValue: 8)
    /// Every corner; draws like all four together, but has another key.
    package static let all = Corners(rawValue: .max)

    static let names: [(name: String, corner: Corners)] = [
        ("topLeft", .topLeft), ("topRight", .topRight), ("bottomLeft", .bottomLeft), ("bottomRight", .bottomRight),
    ]
}
