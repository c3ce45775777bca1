internal import ImageModel
internal import Transcoder

/// Netpbm's PAM, which coders may write: lines of text, then 8- or 16-bit samples, row by row.
struct PAMImage {
    private let width, height: Int
    /// Samples per pixel: grey, grey and alpha, RGB, or RGB and alpha.
    private let depth: Int
    private let maximum: Int
    private let start: Int

    /// Reads the header; nil if the file is no PAM.
    ///
    /// - Throws: `TranscodeError` 1001 for an invalid header or missing samples, 202, 203.
    init?(_ bytes: UnsafeRawBufferPointer, _ limits: TranscodeLimits) throws(TranscodeError) {
        guard bytes.has("P7\n", at: 0) else { return nil }
        var numbers: [Substring: Int] = [:]
        var position = 3
        while true {
            // No header line is longer, so a file without one is not read to its end.
            let line = bytes.dropFirst(position).prefix(256).prefix { $0 != UInt8(ascii: "\n") }
            position += line.count + 1
            guard position <= bytes.count, position < 4096 else {
                throw TranscodeError(.undecodable, "the PAM has no end of its header")
            }
            let words = String(decoding: line, as: UTF8.self).split(separator: " ")
            if words.first == "ENDHDR" { break }
            if words.count == 2 { numbers[words[0]] = Int(words[1]) }
        }
        guard let width = numbers["WIDTH"], let height = numbers["HEIGHT"], let depth = numbers["DEPTH"],
            let maximum = numbers["MAXVAL"], (1...0x7fff_ffff).contains(width), (1...0x7fff_ffff).contains(height),
            (1...4).contains(depth), (1...65_535).contains(maximum)
        else { throw TranscodeError(.undecodable, "the PAM has no sound header") }
        try limits.check(SourceHeader(format: .png, width: width, height: height))
        guard bytes.count - position >= width * height * depth * (maximum > 255 ? 2 : 1) else {
            throw TranscodeError(.undecodable, "the PAM is cut short")
        }
        (self.width, self.height, self.depth, self.maximum, start) = (width, height, depth, maximum, position)
    }

    /// An uncompressed 8-bit PNG.
    ///
    /// - Parameter bytes: the file.
    /// - Throws: `CodecFailure` if out of memory.
    func png(_ bytes: UnsafeRawBufferPointer) throws(CodecFailure) -> EncodedFile {
        let bands = depth < 3 ? depth + 2 : depth
        let image = try LibvipsImage(width: width, height: height, bands: bands) { pixels in
            let sampleBytes = maximum > 255 ? 2 : 1
            for pixel in 0..<width * height {
                for band in 0..<bands {
                    // A grey pixel's three colours are its first sample.
                    let sample = depth < 3 ? max(0, band - 2) : band
                    let place = start + (pixel * depth + sample) * sampleBytes
                    let value = sampleBytes == 2 ? Int(bytes[place]) << 8 | Int(bytes[place + 1]) : Int(bytes[place])
                    pixels[pixel * bands + band] = UInt8((min(value, maximum) * 255 + maximum / 2) / maximum)
                }
            }
        }
        return try image.saved("pngsave_buffer", "compression=0")
    }
}
