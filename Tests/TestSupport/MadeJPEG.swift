/// Black progressive JPEGs of any size in few bytes, as slow to decode as a test needs them.
public enum MadeJPEG {
    /// A JPEG that decodes without a warning.
    ///
    /// Each coefficient after the first takes 14 scans for each component, all that the format allows: of 7000 × 6000
    /// pixels, with 63 coefficients of three components, 420 kB take minutes.
    ///
    /// - Parameters:
    ///   - components: 1 for grey, 3 for colour.
    ///   - coefficients: how many of the 63 besides the first of a block have scans.
    public static func bytes(_ width: Int, _ height: Int, components: Int = 1, coefficients: Int = 0) -> [UInt8] {
        let blocks = (width + 7) / 8 * ((height + 7) / 8)
        var file: [UInt8] = [0xFF, 0xD8] + segment(0xDB, [0] + [UInt8](repeating: 1, count: 64))
        let size = [height >> 8, height & 255, width >> 8, width & 255].map { UInt8($0) }
        let numbers = (1...components).map(UInt8.init)
        file += segment(0xC2, [8] + size + [UInt8(components)] + numbers.flatMap { [$0, 0x11, 0] })
        // Two tables of one code, 0: no difference to the block before; and 16384 blocks of nothing, or more by 14
        // bits.
        let oneCode: [UInt8] = [1] + [UInt8](repeating: 0, count: 15)
        file += segment(0xC4, [0x00] + oneCode + [0x00]) + segment(0xC4, [0x10] + oneCode + [0xE0])
        let first = UInt8(components)
        file += segment(0xDA, [first] + numbers.flatMap { [$0, 0] } + [0, 0, 0])
        file += [UInt8](repeating: 0, count: (blocks * components + 7) / 8)
        let nothing = emptyBlocks(blocks)
        for coefficient in 0..<coefficients {
            let band = UInt8(coefficient + 1)
            for bit in stride(from: UInt8(13), through: 0, by: -1) {
                let approximation = bit == 13 ? bit : (bit + 1) << 4 | bit
                for number in numbers { file += segment(0xDA, [1, number, 0, band, band, approximation]) + nothing }
            }
        }
        return file + [0xFF, 0xD9]
    }

    private static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
        let length = content.count + 2
        return [0xFF, marker, UInt8(length >> 8), UInt8(length & 255)] + content
    }

    /// Runs of blocks that have nothing, 15 bits each.
    private static func emptyBlocks(_ count: Int) -> [UInt8] {
        var bits: [Bool] = []
        var left = count
        while left > 0 {
            // A run may reach beyond the end.
            let run = max(16384, min(left, 32767))
            bits.append(false)
            for place in stride(from: 13, through: 0, by: -1) { bits.append((run - 16384) >> place & 1 == 1) }
            left -= run
        }
        while bits.count % 8 != 0 { bits.append(true) }
        return stride(from: 0, to: bits.count, by: 8).flatMap { start -> [UInt8] in
            let byte = bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
            return byte == 0xFF ? [byte, 0] : [byte]
        }
    }
}
