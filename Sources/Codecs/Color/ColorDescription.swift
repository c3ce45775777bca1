/// An image's colour space where no profile defines it: code points of ITU-T H.273, or PNG's chunks.
struct ColorDescription: Sendable, Hashable {
    var primaries: ColorPrimaries
    var transfer: TransferCurve

    /// A file's description, if it has one.
    struct Source: Sendable, Hashable {
        var description: ColorDescription?
        /// Whether it takes precedence over an embedded profile.
        var isBeforeProfile = false
        /// Whether the colours are multiplied by alpha.
        var isPremultiplied = false
    }

    init(primaries: ColorPrimaries, transfer: TransferCurve) {
        (self.primaries, self.transfer) = (primaries, transfer)
    }

    /// From two code points; unspecified primaries are sRGB's.
    init(primaries: Int, transfer: Int) {
        self.init(
            primaries: ColorPrimaries(codePoint: primaries) ?? .sRGB, transfer: TransferCurve(codePoint: transfer))
    }

    var isSRGB: Bool { transfer == .sRGB && primaries.areNear(.sRGB) }

    /// An equivalent ICC profile, version 4.3, for RGB or grey; nil if the primaries cannot be adapted, or a value
    /// exceeds a profile's range.
    func profile(isGrey: Bool) -> [UInt8]? {
        guard let columns = primaries.adaptedColumns, let adaptation = primaries.adaptation,
            (columns.joined() + adaptation.rows + exponents).allSatisfy({ abs($0) < 32_768 })
        else { return nil }
        var tags: [(StaticString, [UInt8])] = [
            ("desc", Self.text("Larder")), ("cprt", Self.text("CC0")), ("wtpt", Self.xyz(ColorPrimaries.d50)),
            ("chad", Array("sf32".utf8) + Self.zeros(4) + adaptation.rows.flatMap(Self.fixed)),
        ]
        let names: [(StaticString, StaticString)] = [("rXYZ", "rTRC"), ("gXYZ", "gTRC"), ("bXYZ", "bTRC")]
        if isGrey {
            tags.append(("kTRC", curve))
        } else {
            for (name, column) in zip(names, columns) { tags += [(name.0, Self.xyz(column)), (name.1, curve)] }
        }
        return Self.file(isGrey ? "GRAY" : "RGB ", tags)
    }

    private var curve: [UInt8] {
        switch transfer {
        case .sRGB:
            return Array("para".utf8) + Self.zeros(4) + [0, 3, 0, 0]
                + [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045].flatMap(Self.fixed)
        case .gamma(let exponent): return Array("para".utf8) + Self.zeros(8) + Self.fixed(exponent)
        case .pq, .hlg:
            let values = (0..<4096).map { UInt16(transfer.decoded(Double($0) / 4095) * 65535 + 0.5) }
            return Array("curv".utf8) + Self.zeros(4) + Self.number(values.count)
                + values.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
        }
    }

    private var exponents: [Double] { if case .gamma(let exponent) = transfer { [exponent] } else { [] } }

    // MARK: - The file (ICC.1:2010, 7 and 10)

    private static func file(_ space: StaticString, _ tags: [(StaticString, [UInt8])]) -> [UInt8] {
        var table = number(tags.count), data: [UInt8] = []
        let start = 132 + 12 * tags.count
        for (name, bytes) in tags {
            table += name.bytes + number(start + data.count) + number(bytes.count)
            data += bytes + zeros((4 - bytes.count % 4) % 4)
        }
        var header = number(start + data.count) + zeros(4) + [4, 0x30, 0, 0] + "mntr".utf8 + space.bytes + "XYZ ".utf8
        // 1 January 2026.
        header += [0x07, 0xEA, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0] + "acsp".utf8 + zeros(28)
        header += ColorPrimaries.d50.flatMap(fixed)
        return header + zeros(128 - header.count) + table + data
    }

    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    private static func number(_ value: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
    }

    /// Fixed-point with 16 integer and 16 fractional bits.
    private static func fixed(_ value: Double) -> [UInt8] { number(Int((value * 65536).rounded())) }

    private static func xyz(_ values: [Double]) -> [UInt8] { Array("XYZ ".utf8) + zeros(4) + values.flatMap(fixed) }

    private static func text(_ text: String) -> [UInt8] {
        Array("mluc".utf8) + zeros(4) + number(1) + number(12) + Array("enUS".utf8) + number(2 * text.utf8.count)
            + number(28) + text.utf8.flatMap { [0, $0] }
    }
}

extension StaticString {
    fileprivate var bytes: [UInt8] { withUTF8Buffer { Array($0) } }
}
