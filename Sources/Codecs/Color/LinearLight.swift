private import Glibc

/// sRGB's transfer function between bytes and linear light.
enum LinearLight {
    /// Decodes 0…1.
    static func linear(_ encoded: Double) -> Double {
        encoded <= 0.04045 ? encoded / 12.92 : pow((encoded + 0.055) / 1.055, 2.4)
    }

    /// Encodes 0…1.
    static func encoded(_ linear: Double) -> Double {
        linear <= 0.0031308 ? linear * 12.92 : 1.055 * pow(linear, 1 / 2.4) - 0.055
    }

    /// The corresponding C function is `pow`.
    static func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }

    /// The corresponding C function is `exp`.
    static func exponential(_ exponent: Double) -> Double { exp(exponent) }

    /// The linear value of each byte.
    static let values: [Float] = (0...255).map { Float(linear(Double($0) / 255)) }

    /// The nearest byte of a linear value, which is clamped to 0…1.
    static func byte(_ linear: Float) -> UInt8 {
        encodedBytes[Int(max(0, min(1, linear)) * Float(encodedBytes.count - 1) + 0.5)]
    }

    /// The nearest byte of each of 65536 linear values: the steps are a twentieth of a byte's, small enough for the
    /// steep start of the curve.
    static let encodedBytes: [UInt8] = (0...65535).map { UInt8((encoded(Double($0) / 65535) * 255).rounded()) }
}
