/// How a tint is composited over the image. The raw values are Core Graphics' numbers.
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
