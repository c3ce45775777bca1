/// The image sequence in a HEIF container (ISO/IEC 23008-12, 7), a track like a video's.
package enum HEIFSequence {
    /// The samples of the first track of pictures; 1 where there is none.
    @Sendable package static func frames(_ bytes: UnsafeRawBufferPointer) -> Int {
        let file = ISOBoxes(bytes, in: 0..<bytes.count)
        guard let movie = file.first("moov") else { return 1 }
        for track in ISOBoxes(bytes, in: movie) where bytes.has("trak", at: track.type) {
            guard let media = ISOBoxes(bytes, in: track.content).first("mdia"),
                let handler = ISOBoxes(bytes, in: media).first("hdlr"), bytes.has("pict", at: handler.lowerBound + 8),
                let information = ISOBoxes(bytes, in: media).first("minf"),
                let table = ISOBoxes(bytes, in: information).first("stbl"),
                let sizes = ISOBoxes(bytes, in: table).first("stsz")
            else { continue }
            let size = bytes.bigEndian(at: sizes.lowerBound + 4) ?? 0
            let count = bytes.bigEndian(at: sizes.lowerBound + 8) ?? 1
            // Samples of sizes of their own have a number each; others lie in the file.
            let most = size == 0 ? (sizes.count - 12) / 4 : bytes.count / size
            return max(1, min(count, most))
        }
        return 1
    }
}
