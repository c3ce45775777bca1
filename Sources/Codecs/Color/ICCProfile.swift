private import ImageModel

/// Recognises colour profiles that need no conversion.
///
/// Conversion costs more than decoding, and half of the profiles in images are sRGB under another name.
enum ICCProfile {
    /// The colour space in the profile's header: `RGB `, `GRAY`, `CMYK`.
    static func space(_ profile: [UInt8]) -> String? {
        guard profile.count >= 128 else { return nil }
        return String(decoding: profile[16..<20], as: UTF8.self)
    }

    /// Whether the profile has sRGB's primaries and curve.
    static func isSRGB(_ profile: [UInt8]) -> Bool {
        guard space(profile) == "RGB " else { return false }
        func tag(_ name: StaticString) -> Int? { Self.tag(name, in: profile) }
        // Adapted to D50, as in every sRGB profile.
        let primaries: [(StaticString, [Double])] = [
            ("rXYZ", [0.4360, 0.2225, 0.0139]), ("gXYZ", [0.3851, 0.7169, 0.0971]), ("bXYZ", [0.1431, 0.0606, 0.7141]),
        ]
        let samePrimaries = primaries.allSatisfy { name, expected in
            guard let offset = tag(name) else { return false }
            return hasNumbers(expected, in: profile, at: offset + 8)
        }
        let curves: [StaticString] = ["rTRC", "gTRC", "bTRC"]
        return samePrimaries && curves.allSatisfy { tag($0).map { isSRGBCurve(profile, at: $0) } ?? false }
    }

    /// Whether the profile has a table for the perceptual intent but not for the relative one; the perceptual one then
    /// applies (ICC.1:2010, 8.10.2).
    static func isPerceptualOnly(_ profile: [UInt8]) -> Bool {
        tag("A2B0", in: profile) != nil && tag("A2B1", in: profile) == nil
    }

    /// The offset of a tag's data.
    static func tag(_ name: StaticString, in profile: [UInt8]) -> Int? {
        guard let count = profile.bigEndian(at: 128) else { return nil }
        return (0..<min(count, 64)).first { profile.has(name, at: 132 + 12 * $0) }
            .flatMap { profile.bigEndian(at: 136 + 12 * $0) }
    }

    /// The s15Fixed16 numbers at `offset`; nil if the profile ends before.
    static func numbers(_ count: Int, in profile: [UInt8], at offset: Int) -> [Double]? {
        guard offset + 4 * count <= profile.count else { return nil }
        let words = (0..<count).compactMap { profile.bigEndian(at: offset + 4 * $0) }
        return words.count == count ? words.map { Double(Int32(truncatingIfNeeded: $0)) / 65536 } : nil
    }

    private static func isSRGBCurve(_ profile: [UInt8], at offset: Int) -> Bool {
        if profile.has("para", at: offset) {
            guard profile.bigEndian(at: offset + 8, length: 2) == 3 else { return false }
            let expected = [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045]
            return hasNumbers(expected, in: profile, at: offset + 12)
        }
        guard profile.has("curv", at: offset), let count = profile.bigEndian(at: offset + 8),
            (16...65536).contains(count)
        else { return false }
        return [0.02, 0.1, 0.25, 0.5, 0.75, 0.9].allSatisfy { position in
            let index = Int((position * Double(count - 1)).rounded())
            guard let found = profile.bigEndian(at: offset + 12 + 2 * index, length: 2) else { return false }
            return abs(Double(found) / 65535 - LinearLight.linear(Double(index) / Double(count - 1))) < 0.002
        }
    }

    /// Whether the s15Fixed16 numbers at `offset` equal `expected` within 0.003.
    private static func hasNumbers(_ expected: [Double], in profile: [UInt8], at offset: Int) -> Bool {
        numbers(expected.count, in: profile, at: offset).map { zip($0, expected).allSatisfy { abs($0 - $1) < 0.003 } }
            ?? false
    }
}
