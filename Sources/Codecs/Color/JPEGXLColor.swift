private import ImageModel

/// The profiles that libjxl makes for images with numbers in PQ or HLG, which describe more light than a display has.
enum JPEGXLColor {
    /// Nil for any other profile. libjxl names the space in the description: `RGB_D65_202_Per_PeQ`.
    @Sendable static func read(_ profile: [UInt8]) -> ColorDescription? {
        guard profile.has("jxl ", at: 4), let start = ICCProfile.tag("desc", in: profile),
            profile.has("mluc", at: start), let length = profile.bigEndian(at: start + 20),
            let place = profile.bigEndian(at: start + 24), length < 256, start + place + length <= profile.count
        else { return nil }
        // ASCII in UTF-16.
        let letters = profile[(start + place)..<(start + place + length)].filter { $0 != 0 }
        let parts = String(decoding: letters, as: UTF8.self).split(separator: "_")
        guard let transfer: TransferCurve = parts.last == "PeQ" ? .pq : parts.last == "HLG" ? .hlg : nil else {
            return nil
        }
        let primaries: ColorPrimaries = parts.contains("SRG") ? .sRGB : parts.contains("DCI") ? .displayP3 : .rec2020
        return ColorDescription(primaries: primaries, transfer: transfer)
    }
}
