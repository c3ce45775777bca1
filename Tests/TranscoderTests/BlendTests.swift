import Testing

@testable import Codecs
@testable import ImageModel

/// All 28 blend modes against their definitions, computed here a second time.
@Suite(.timeLimit(.minutes(5)))
struct BlendTests {
    private typealias Quad = (r: Double, g: Double, b: Double, a: Double)

    private func tinted(_ pixel: [UInt8], _ color: Color, _ mode: BlendMode) -> [Int] {
        var bytes = pixel
        bytes.withUnsafeMutableBufferPointer { Raster($0, width: 1, height: 1).tint(color, mode) }
        return bytes.map(Int.init)
    }

    private let images: [[UInt8]] = [
        [0, 0, 255, 255], [255, 255, 255, 255], [0, 0, 0, 255], [200, 100, 50, 255], [200, 100, 50, 128],
        [10, 240, 90, 1],
        [0, 0, 0, 0], [128, 128, 128, 200],
    ]

    private let colors = ["#ffff0000", "#80ff0000", "#ff000000", "#ffffffff", "#c0336699", "#01808080"].compactMap(
        Color.init)

    @Test(arguments: BlendMode.allCases)
    func `a blend mode gives the colours of its definition`(mode: BlendMode) {
        for image in images {
            for color in colors {
                let da = Double(image[3]) / 255, sa = color.alpha
                let cb = image[0..<3].map { da > 0 ? Double($0) / 255 : 0 },
                    cs = [color.red, color.green, color.blue]
                let premultiplied = (0..<3).map { band in
                    component(mode, s: cs[band] * sa, d: cb[band] * da, sa, da) {
                        self.mix(mode, cb, cs)[band]
                    }
                }
                let alpha = component(mode, s: sa, d: da, sa, da) { 1 }
                let expected =
                    alpha > 0
                    ? premultiplied.map { Int(($0 / alpha * 255).rounded()) } + [Int((alpha * 255).rounded())]
                    : [0, 0, 0, 0]
                let found = tinted(image, color, mode)
                #expect(
                    isClose(found, expected, within: 1),
                    "\(mode) \(color.text) on \(image): \(found), not \(expected)")
            }
        }
    }

    private func component(
        _ mode: BlendMode, s: Double, d: Double, _ sa: Double, _ da: Double, _ mixed: () -> Double
    ) -> Double {
        switch mode {
        case .normal: s + d * (1 - sa)
        case .clear: 0
        case .copy: s
        case .sourceIn: s * da
        case .sourceOut: s * (1 - da)
        case .sourceAtop: s * da + d * (1 - sa)
        case .destinationOver: s * (1 - da) + d
        case .destinationIn: d * sa
        case .destinationOut: d * (1 - sa)
        case .destinationAtop: s * (1 - da) + d * sa
        case .xor: s * (1 - da) + d * (1 - sa)
        case .plusDarker: max(0, 1 - ((1 - d) + (1 - s)))
        case .plusLighter: min(1, s + d)
        default: s * (1 - da) + d * (1 - sa) + sa * da * mixed()
        }
    }

    /// B(Cb, Cs) of ISO 32000.
    private func mix(_ mode: BlendMode, _ cb: [Double], _ cs: [Double]) -> [Double] {
        switch mode {
        case .hue: setLuminosity(setSaturation(cs, saturation(cb)), luminosity(cb))
        case .saturation: setLuminosity(setSaturation(cb, saturation(cs)), luminosity(cb))
        case .color: setLuminosity(cs, luminosity(cb))
        case .luminosity: setLuminosity(cb, luminosity(cs))
        default: zip(cb, cs).map { mix(mode, $0, $1) }
        }
    }

    private func mix(_ mode: BlendMode, _ b: Double, _ s: Double) -> Double {
        switch mode {
        case .multiply: return b * s
        case .screen: return b + s - b * s
        case .overlay: return b <= 0.5 ? 2 * b * s : 1 - 2 * (1 - b) * (1 - s)
        case .darken: return min(b, s)
        case .lighten: return max(b, s)
        case .colorDodge: return b == 0 ? 0 : s == 1 ? 1 : min(1, b / (1 - s))
        case .colorBurn: return b == 1 ? 1 : s == 0 ? 0 : 1 - min(1, (1 - b) / s)
        case .hardLight: return s <= 0.5 ? 2 * b * s : 1 - 2 * (1 - b) * (1 - s)
        case .softLight:
            if s <= 0.5 { return b - (1 - 2 * s) * b * (1 - b) }
            let d = b <= 0.25 ? ((16 * b - 12) * b + 4) * b : b.squareRoot()
            return b + (2 * s - 1) * (d - b)
        case .difference: return abs(b - s)
        case .exclusion: return b + s - 2 * b * s
        default: return s
        }
    }

    private func luminosity(_ c: [Double]) -> Double { 0.3 * c[0] + 0.59 * c[1] + 0.11 * c[2] }

    private func saturation(_ c: [Double]) -> Double { (c.max() ?? 0) - (c.min() ?? 0) }

    private func setLuminosity(_ c: [Double], _ l: Double) -> [Double] {
        let d = l - luminosity(c)
        var result = c.map { $0 + d }
        let n = result.min() ?? 0, x = result.max() ?? 0, lum = luminosity(result)
        if n < 0 { result = result.map { lum + ($0 - lum) * lum / (lum - n) } }
        if x > 1 { result = result.map { lum + ($0 - lum) * (1 - lum) / (x - lum) } }
        return result
    }

    private func setSaturation(_ c: [Double], _ s: Double) -> [Double] {
        let low = c.min() ?? 0, range = saturation(c)
        return range > 0 ? c.map { ($0 - low) * s / range } : [0, 0, 0]
    }
}
