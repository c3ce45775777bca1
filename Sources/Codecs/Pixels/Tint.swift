internal import ImageModel

extension Raster {
    /// Composites a colour over the whole canvas. Source: SDWebImage 5.21.5, SDImageTintTransformer.
    func tint(_ color: Color, _ mode: BlendMode) {
        let source = Self.premultiplied(color)
        for index in 0..<width * height {
            store(premultiplied: mode.blend(source, over: premultiplied(index)), index)
        }
    }
}

extension BlendMode {
    /// Composites `source` over a pixel, both premultiplied, in gamma-encoded sRGB.
    func blend(_ source: SIMD4<Float>, over backdrop: SIMD4<Float>) -> SIMD4<Float> {
        let (sa, da) = (source.w, backdrop.w)
        let one = SIMD4<Float>(repeating: 1)
        switch self {
        case .plusLighter: return (source + backdrop).clamped(lowerBound: .zero, upperBound: one)
        case .plusDarker: return (source + backdrop - one).clamped(lowerBound: .zero, upperBound: one)
        default: break
        }
        if let share = shares(sa, da) { return source * share.source + backdrop * share.backdrop }
        // PDF's modes are mixed by the coverage of both.
        let straightSource = sa > 0 ? source / sa : .zero
        let straightBackdrop = da > 0 ? backdrop / da : .zero
        var mixed = mix(straightBackdrop, straightSource)
        mixed.w = 1
        return source * (1 - da) + backdrop * (1 - sa) + mixed * (sa * da)
    }

    /// The weights of both in the result, for Porter and Duff's operators; nil for other modes.
    private func shares(_ sa: Float, _ da: Float) -> (source: Float, backdrop: Float)? {
        switch self {
        case .normal: (1, 1 - sa)
        case .clear: (0, 0)
        case .copy: (1, 0)
        case .sourceIn: (da, 0)
        case .sourceOut: (1 - da, 0)
        case .sourceAtop: (da, 1 - sa)
        case .destinationOver: (1 - da, 1)
        case .destinationIn: (0, sa)
        case .destinationOut: (0, 1 - sa)
        case .destinationAtop: (1 - da, sa)
        case .xor: (1 - da, 1 - sa)
        default: nil
        }
    }

    /// Whether an opaque image stays opaque under a colour with that alpha.
    func keepsOpaque(under alpha: Double) -> Bool {
        switch self {
        case .clear, .sourceOut, .xor, .destinationOut: false
        case .copy, .sourceIn, .destinationIn, .destinationAtop, .plusDarker: alpha == 1
        default: true
        }
    }

    /// PDF's B(Cb, Cs), backdrop first, on straight colours; the fourth component is undefined.
    private func mix(_ cb: SIMD4<Float>, _ cs: SIMD4<Float>) -> SIMD4<Float> {
        switch self {
        case .multiply: return cb * cs
        case .screen: return cb + cs - cb * cs
        case .darken: return pointwiseMin(cb, cs)
        case .lighten: return pointwiseMax(cb, cs)
        case .difference: return pointwiseMax(cb, cs) - pointwiseMin(cb, cs)
        case .exclusion: return cb + cs - 2 * cb * cs
        case .hue: return cs.withSaturation(cb.saturation).withLuminosity(cb.luminosity)
        case .saturation: return cb.withSaturation(cs.saturation).withLuminosity(cb.luminosity)
        case .color: return cs.withLuminosity(cb.luminosity)
        case .luminosity: return cb.withLuminosity(cs.luminosity)
        default:
            var result = SIMD4<Float>.zero
            for band in 0..<3 { result[band] = mix(cb[band], cs[band]) }
            return result
        }
    }

    /// Modes with conditions per component.
    private func mix(_ cb: Float, _ cs: Float) -> Float {
        switch self {
        case .overlay: Self.hardLight(cs, cb)
        case .hardLight: Self.hardLight(cb, cs)
        case .colorDodge: cb <= 0 ? 0 : cs >= 1 ? 1 : min(1, cb / (1 - cs))
        case .colorBurn: cb >= 1 ? 1 : cs <= 0 ? 0 : 1 - min(1, (1 - cb) / cs)
        case .softLight: Self.softLight(cb, cs)
        default: cs
        }
    }

    private static func hardLight(_ cb: Float, _ cs: Float) -> Float {
        cs <= 0.5 ? cb * 2 * cs : cb + (2 * cs - 1) - cb * (2 * cs - 1)
    }

    private static func softLight(_ cb: Float, _ cs: Float) -> Float {
        guard cs > 0.5 else { return cb - (1 - 2 * cs) * cb * (1 - cb) }
        let bright = cb <= 0.25 ? ((16 * cb - 12) * cb + 4) * cb : cb.squareRoot()
        return cb + (2 * cs - 1) * (bright - cb)
    }
}

/// PDF's functions for non-separable modes.
extension SIMD4<Float> {
    fileprivate var luminosity: Float { 0.3 * x + 0.59 * y + 0.11 * z }

    fileprivate var saturation: Float { Swift.max(x, y, z) - Swift.min(x, y, z) }

    fileprivate func withLuminosity(_ wanted: Float) -> SIMD4<Float> {
        let shifted = self + (wanted - luminosity)
        let (low, high) = (Swift.min(shifted.x, shifted.y, shifted.z), Swift.max(shifted.x, shifted.y, shifted.z))
        let lightness = shifted.luminosity
        var result = shifted
        if low < 0 { result = lightness + (result - lightness) * lightness / (lightness - low) }
        if high > 1 { result = lightness + (result - lightness) * (1 - lightness) / (high - lightness) }
        return result
    }

    /// Stretched so that the lowest component is 0 and the range is `wanted`.
    fileprivate func withSaturation(_ wanted: Float) -> SIMD4<Float> {
        let (low, range) = (Swift.min(x, y, z), saturation)
        return range > 0 ? (self - low) * wanted / range : .zero
    }
}
