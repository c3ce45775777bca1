import TestTranscoder

@testable import Codecs
@testable import ImageModel

/// An image decoded in this process to RGBA.
struct PixelSample: Sendable {
    let width, height: Int
    /// Whether the file has an alpha channel.
    let hasAlpha: Bool
    /// The metadata fields that the loader found: EXIF, XMP, IPTC, a profile.
    let metadata: [String]
    /// Red, green, blue and straight alpha of each pixel, row by row.
    private let bytes: [UInt8]

    /// Decodes a file; nil when it is not an image.
    ///
    /// - Parameter frames: how many frames of a GIF or WebP, one below another; -1 for all.
    init?(_ file: [UInt8], frames: Int = 1) {
        guard DirectTranscoder.isReady, let format = ImageFormat.recognise(file),
            let sample = file.withUnsafeBytes({ try? PixelSample(format, $0, frames: frames) })
        else { return nil }
        self = sample
    }

    private init(_ format: ImageFormat, _ file: UnsafeRawBufferPointer, frames: Int) throws(CodecFailure) {
        let opened = try LibvipsImage(format, file, frames: frames), image = try opened.inSRGB()
        (width, height, hasAlpha) = (image.size.width, image.size.height, opened.hasAlpha)
        metadata = opened.fieldNames.filter { name in
            ["exif-", "xmp-", "iptc-", "icc-"].contains { name.hasPrefix($0) }
        }
        let pixels = try image.rawRGBA()
        bytes = withExtendedLifetime(pixels) { Array(pixels.bytes) }
    }

    /// Red, green, blue, alpha of one pixel.
    func pixel(_ x: Int, _ y: Int) -> [Int] {
        let start = (y * width + x) * 4
        return bytes[start..<start + 4].map(Int.init)
    }

    /// The largest difference of a channel from an image of the same size; of a colour, as much as its alpha shows.
    func maxDifference(from other: PixelSample) -> Int {
        var worst = 0
        for start in stride(from: 0, to: min(bytes.count, other.bytes.count), by: 4) {
            let (alpha, otherAlpha) = (Int(bytes[start + 3]), Int(other.bytes[start + 3]))
            worst = max(worst, abs(alpha - otherAlpha))
            for place in start..<start + 3 {
                let (one, two) = (Int(bytes[place]), Int(other.bytes[place]))
                let visible = (abs(one * alpha - two * otherAlpha) + 127) / 255
                worst = max(worst, min(abs(one - two), visible))
            }
        }
        return worst
    }

    /// The mean of the squared differences of red, green and blue from an image of the same size.
    func squaredError(to other: PixelSample) -> Double {
        var sum = 0
        for start in stride(from: 0, to: min(bytes.count, other.bytes.count), by: 4) {
            for place in start..<start + 3 {
                let difference = Int(bytes[place]) - Int(other.bytes[place])
                sum += difference * difference
            }
        }
        return Double(sum) / Double(max(1, width * height * 3))
    }
}
