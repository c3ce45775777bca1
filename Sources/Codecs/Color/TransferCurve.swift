private import Glibc

/// Maps an image's values, 0…1, to linear light of the display, 0…1.
///
/// PQ and HLG describe more light than an SDR display has: their curves end in a tone curve.
enum TransferCurve: Sendable, Hashable {
    /// IEC 61966-2-1.
    case sRGB
    /// A power, 1 to 10 or a fraction of 1.
    case gamma(Double)
    /// SMPTE ST 2084 (PQ).
    case pq
    /// ITU-R BT.2100's hybrid log-gamma.
    case hlg

    /// The curve of a code point in ITU-T H.273, table 3. BT.709 and its relatives use sRGB's curve, as in browsers, as
    /// do reserved and unspecified ones.
    init(codePoint: Int) {
        switch codePoint {
        case 4: self = .gamma(2.2)
        case 5: self = .gamma(2.8)
        case 8: self = .gamma(1)
        case 16: self = .pq
        case 17: self = .gamma(2.6)
        case 18: self = .hlg
        default: self = .sRGB
        }
    }

    /// Linear light.
    func decoded(_ number: Double) -> Double {
        switch self {
        case .sRGB: LinearLight.linear(number)
        case .gamma(let exponent): LinearLight.power(number, exponent)
        case .pq: Self.toned(number)
        case .hlg: Self.toned(Self.encodedPQ(nits: 1000 * LinearLight.power(Self.sceneLight(number), 1.2)))
        }
    }

    // MARK: - High dynamic range

    /// Luminance of SDR white in HDR images (ITU-R BT.2408), in cd/m².
    private static let whiteNits = 203.0
    /// Luminance from which everything is white.
    private static let peakNits = 1000.0

    /// SDR light for a PQ value: linear up to a knee, then compressed up to the peak.
    ///
    /// Applies the curve of ITU-R BT.2390-10, 5.4.1, to each channel.
    private static func toned(_ number: Double) -> Double {
        let peak = encodedPQ(nits: peakNits), target = encodedPQ(nits: whiteNits) / peak
        let knee = 1.5 * target - 0.5, input = min(1, number / peak)
        guard input > knee else { return decodedPQ(input * peak) / whiteNits }
        let t = (input - knee) / (1 - knee)
        let t2 = t * t, t3 = t2 * t
        let start = (2 * t3 - 3 * t2 + 1) * knee
        let slope = (t3 - 2 * t2 + t) * (1 - knee)
        let end = (3 * t2 - 2 * t3) * target
        return min(1, decodedPQ((start + slope + end) * peak) / whiteNits)
    }

    private static let st2084 = (
        m1: 2610.0 / 16384, m2: 2523.0 / 32, c1: 3424.0 / 4096, c2: 2413.0 / 128, c3: 2392.0 / 128
    )

    /// In cd/m².
    static func decodedPQ(_ number: Double) -> Double {
        let power = LinearLight.power(max(0, number), 1 / st2084.m2)
        return 10000 * LinearLight.power(max(0, power - st2084.c1) / (st2084.c2 - st2084.c3 * power), 1 / st2084.m1)
    }

    /// From cd/m².
    static func encodedPQ(nits: Double) -> Double {
        let power = LinearLight.power(max(0, nits) / 10000, st2084.m1)
        return LinearLight.power((st2084.c1 + st2084.c2 * power) / (1 + st2084.c3 * power), st2084.m2)
    }

    /// Scene light, 0…1, of an HLG value.
    private static func sceneLight(_ number: Double) -> Double {
        guard number > 0.5 else { return number * number / 3 }
        let (a, b, c) = (0.17883277, 0.28466892, 0.55991073)
        return (LinearLight.exponential((number - c) / a) + b) / 12
    }
}

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

    /// Wraps C's `pow`.
    static func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }

    /// Wraps C's `exp`.
    static func exponential(_ exponent: Double) -> Double { exp(exponent) }

    /// The linear value of each byte.
    static let values: [Float] = (0...255).map { Float(linear(Double($0) / 255)) }

    /// The nearest byte of a linear value, clamped to 0…1.
    static func byte(_ linear: Float) -> UInt8 {
        encodedBytes[Int(max(0, min(1, linear)) * Float(encodedBytes.count - 1) + 0.5)]
    }

    /// The nearest byte of 65536 linear values. A step is a twentieth of a byte's, small enough for the curve's steep
    /// start.
    static let encodedBytes: [UInt8] = (0...65535).map { UInt8((encoded(Double($0) / 65535) * 255).rounded()) }
}
