private import CVips
internal import ImageModel

/// A picture decoded in this process to plain pixels: for tests and self-tests on files of our own making.
package struct PixelSample: Sendable {
    package let width, height: Int
    /// Whether the file has an alpha channel.
    package let hasAlpha: Bool
    /// Metadata fields the loader found: EXIF, XMP, IPTC, a profile.
    package let metadata: [String]
    /// Red, green, blue, alpha of each pixel, row by row, straight alpha.
    private let bytes: [UInt8]

    /// Decodes a file; nil when it is no picture.
    package init?(_ file: [UInt8]) {
        guard Self.isStarted, let format = ImageFormat.recognise(file) else { return nil }
        let sample: PixelSample? = file.withUnsafeBytes { raw in
            guard let opened = try? VipsPicture(format, raw), let picture = try? opened.inSRGB(),
                let alpha = try? picture.drawn(
                    .place(x: 0, y: 0, canvas: PixelSize(width: picture.size.width, height: picture.size.height)))
            else { return nil }
            var length = 0
            guard let pixels = vips_image_write_to_memory(alpha.image, &length) else { return nil }
            defer { g_free(pixels) }
            let named = opened.fieldNames.filter { name in
                ["exif-", "xmp-", "iptc-", "icc-"].contains { name.hasPrefix($0) }
            }
            return PixelSample(
                width: picture.size.width, height: picture.size.height, hasAlpha: opened.hasAlpha, metadata: named,
                bytes: Array(UnsafeRawBufferPointer(start: pixels, count: length)))
        }
        guard let sample else { return nil }
        self = sample
    }

    private init(width: Int, height: Int, hasAlpha: Bool, metadata: [String], bytes: [UInt8]) {
        self.width = width
        self.height = height
        self.hasAlpha = hasAlpha
        self.metadata = metadata
        self.bytes = bytes
    }

    /// Red, green, blue, alpha of one pixel.
    package func pixel(_ x: Int, _ y: Int) -> [Int] {
        let start = (y * width + x) * 4
        return bytes[start..<start + 4].map(Int.init)
    }

    /// The largest difference of a channel to a picture of the same size, of a colour under alpha as much as is seen of it.
    package func farthest(from other: PixelSample) -> Int {
        var worst = 0
        for start in stride(from: 0, to: min(bytes.count, other.bytes.count), by: 4) {
            let (alpha, otherAlpha) = (Int(bytes[start + 3]), Int(other.bytes[start + 3]))
            worst = max(worst, abs(alpha - otherAlpha))
            for place in start..<start + 3 {
                let (one, two) = (Int(bytes[place]), Int(other.bytes[place]))
                // Next to nothing of a colour is left under an alpha of next to nothing.
                let seen = (abs(one * alpha - two * otherAlpha) + 127) / 255
                worst = max(worst, min(abs(one - two), seen))
            }
        }
        return worst
    }

    /// The mean of the squared differences of red, green and blue to a picture of the same size, in levels.
    package func squaredError(to other: PixelSample) -> Double {
        var sum = 0
        for start in stride(from: 0, to: min(bytes.count, other.bytes.count), by: 4) {
            for place in start..<start + 3 {
                let difference = Int(bytes[place]) - Int(other.bytes[place])
                sum += difference * difference
            }
        }
        return Double(sum) / Double(max(1, width * height * 3))
    }

    private static let isStarted = VipsLibrary.start(memoryExit: 1)
}
