/// The kinds of opaque PNG that are decoded to planes, with all of PNG's filters.
enum SyntheticPNG: CaseIterable {
    case color, grey, palette

    /// - Parameter beforePixels: further chunks.
    func file(_ photo: SyntheticPhoto, beforePixels: [UInt8] = []) -> [UInt8] {
        let width = photo.width, samples: [UInt8], kind: UInt8
        var chunks = beforePixels
        switch self {
        case .color: (samples, kind) = (photo.pixels, 2)
        case .grey: (samples, kind) = (stride(from: 1, to: photo.pixels.count, by: 3).map { photo.pixels[$0] }, 0)
        case .palette:
            // Six levels of each colour.
            var levels: [UInt8] = []
            for index: UInt8 in 0..<216 { levels += [index / 36 * 51, index / 6 % 6 * 51, index % 6 * 51] }
            chunks = SyntheticImage.chunk("PLTE", levels) + chunks
            let steps: [UInt8] = photo.pixels.map { $0 / 51 }
            samples = stride(from: 0, to: steps.count, by: 3).map { (start: Int) -> UInt8 in
                steps[start] * 36 + steps[start + 1] * 6 + steps[start + 2]
            }
            kind = 3
        }
        let bytes = self == .color ? 3 : 1, length = width * bytes
        var rows: [UInt8] = []
        for y in 0..<photo.height {
            let row = Array(samples[y * length..<(y + 1) * length])
            let above = y > 0 ? Array(samples[(y - 1) * length..<y * length]) : [UInt8](repeating: 0, count: length)
            rows += Self.filtered(row, above, bytes, by: y % 5)
        }
        let header = SyntheticImage.big(width) + SyntheticImage.big(photo.height) + [8, kind, 0, 0, 0]
        return SyntheticImage.png(header, rows, beforePixels: chunks)
    }

    /// A row after its filter's number (PNG 1.2, section 6).
    private static func filtered(_ row: [UInt8], _ above: [UInt8], _ bytes: Int, by filter: Int) -> [UInt8] {
        var result = [UInt8(filter)]
        for index in row.indices {
            let left = index >= bytes ? Int(row[index - bytes]) : 0, up = Int(above[index])
            let corner = index >= bytes ? Int(above[index - bytes]) : 0
            let guess = left + up - corner
            let candidates: [Int] = [left, up, corner]
            let nearest = candidates.min { abs(guess - $0) < abs(guess - $1) } ?? 0
            let predictions: [Int] = [0, left, up, (left + up) / 2, nearest]
            result.append(row[index] &- UInt8(predictions[filter]))
        }
        return result
    }
}
