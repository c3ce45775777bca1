internal import ImageModel

/// Filters that map each pixel independently: functions on straight colours in linear light.
extension Filter {
    typealias Tone = @Sendable (SIMD3<Float>) -> SIMD3<Float>

    /// Nil for a filter that reads other pixels or positions.
    var tone: Tone? {
        func amount(_ parameter: String) -> Float { Float(self[parameter]) }
        switch name {
        case "CIColorInvert": return { SIMD3(repeating: 1) - $0 }
        case "CISepiaTone":
            let intensity = amount("inputIntensity")
            return { Self.mix($0, Self.sepia($0), intensity) }
        case "CIColorMonochrome":
            // Core Image's default colour, a brown of (0.6, 0.45, 0.3) in sRGB.
            let intensity = amount("inputIntensity")
            let color = SIMD3(
                Float(LinearLight.linear(0.6)), Float(LinearLight.linear(0.45)), Float(LinearLight.linear(0.3)))
            return { Self.mix($0, color * Self.luminance($0), intensity) }
        case "CIPhotoEffectMono": return { SIMD3(repeating: Self.luminance($0)) }
        case "CIPhotoEffectNoir":
            return { color in
                let grey = max(0, min(1, Self.luminance(color)))
                // Between the value and its smooth step: darker shadows, brighter highlights.
                return SIMD3(repeating: grey * 0.25 + 0.75 * grey * grey * (3 - 2 * grey))
            }
        case "CIExposureAdjust":
            let gain = Float(LinearLight.power(2, self["inputEV"]))
            return { $0 * gain }
        case "CIColorControls":
            let (saturation, brightness) = (amount("inputSaturation"), amount("inputBrightness"))
            let contrast = amount("inputContrast")
            return { color in
                let vivid = Self.mix(SIMD3(repeating: Self.luminance(color)), color, saturation)
                return (vivid + brightness - 0.5) * contrast + 0.5
            }
        case "CIGammaAdjust":
            let power = self["inputPower"]
            return { color in
                var result = SIMD3<Float>.zero
                for band in 0..<3 { result[band] = Float(LinearLight.power(Double(color[band]), power)) }
                return result
            }
        case "CIVibrance":
            // The saturation of grey pixels changes most.
            let vibrance = amount("inputAmount")
            return { color in
                let (high, low) = (color.max(), color.min())
                let share = 1 + vibrance * (1 - (high > 0 ? (high - low) / high : 0))
                return Self.mix(SIMD3(repeating: Self.luminance(color)), color, share)
            }
        default: return nil
        }
    }

    /// Rec. 709's weights.
    static func luminance(_ color: SIMD3<Float>) -> Float { 0.2126 * color.x + 0.7152 * color.y + 0.0722 * color.z }

    private static func mix(_ one: SIMD3<Float>, _ other: SIMD3<Float>, _ share: Float) -> SIMD3<Float> {
        one + (other - one) * share
    }

    private static func sepia(_ color: SIMD3<Float>) -> SIMD3<Float> {
        SIMD3(
            0.393 * color.x + 0.769 * color.y + 0.189 * color.z, 0.349 * color.x + 0.686 * color.y + 0.168 * color.z,
            0.272 * color.x + 0.534 * color.y + 0.131 * color.z)
    }
}
