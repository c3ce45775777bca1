import ImageModel

/// A generator with the same numbers for the same seed.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    /// Sebastiano Vigna's SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

/// Corrupts files.
enum Mutation {
    /// One to three of: flips bits, sets bytes, removes a part, truncates, joins the end of another file.
    static func random(of file: [UInt8], splicing other: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        var bytes = file
        for _ in 0..<Int.random(in: 1...3, using: &random) where bytes.count > 4 {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0:
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    bytes[Int.random(in: 0..<bytes.count, using: &random)] ^=
                        1 << UInt8.random(in: 0..<8, using: &random)
                }
            case 1: bytes[place] = [0, 0xFF, 0x7F, 0x80].randomElement(using: &random) ?? 0
            case 2: bytes.removeLast(bytes.count - max(4, place))
            case 3: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...64, using: &random)))
            case 4: bytes = Array(bytes[..<place]) + other.suffix(Int.random(in: 0...other.count, using: &random))
            default:
                for index in place..<min(bytes.count, place + 4) { bytes[index] = 0xFF }
            }
        }
        return bytes
    }

    /// The same file with the right checksum in each chunk of a PNG, so that its damage reaches the decoder; other
    /// files as they are.
    static func repairingChecksums(of file: [UInt8]) -> [UInt8] {
        var bytes = file, start = 8
        guard bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) else { return bytes }
        while start + 12 <= bytes.count {
            let length = bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
            guard length <= bytes.count - start - 12 else { break }
            let end = start + 8 + length, sum = bytes[start + 4..<end].withUnsafeBytes(PNGChunks.checksum)
            for place in 0..<4 { bytes[end + place] = UInt8(truncatingIfNeeded: sum >> UInt32(24 - 8 * place)) }
            start = end + 4
        }
        return bytes
    }
}
