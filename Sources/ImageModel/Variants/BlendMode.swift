/// How a tint is laid over the picture; the numbers are Core Graphics'.
public enum BlendMode: Int, Sendable, Hashable, CaseIterable {
    /// The modes of PDF.
    case normal, multiply, screen, overlay, darken, lighten, colorDodge, colorBurn, softLight, hardLight
    /// The other modes of PDF, the last four not separable.
    case difference, exclusion, hue, saturation, color, luminosity
    /// The operators of Porter and Duff, and the two sums. `sourceIn` is a tint's default since SDWebImage 5.20.
    case clear, copy, sourceIn, sourceOut, sourceAtop, destinationOver, destinationIn, destinationOut
    /// The rest of them.
    case destinationAtop, xor, plusDarker, plusLighter

    /// The Core Graphics name in lower camel case.
    public var name: String { "\(self)" }
}
