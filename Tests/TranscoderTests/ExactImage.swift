import Foundation

@testable import Transcoder

/// An image in floating point, as reference for variants.
struct ExactImage {
    let width, height: Int
    /// Red, green, blue of each pixel, row by row, 0…255.
    private(set) var channels: [[Double]]

    init(width: Int, height: Int, channels: [[Double]]) {
        (self.width, self.height, self.channels) = (width, height, channels)
    }

    init(_ sample: PixelSample) {
        (width, height) = (sample.width, sample.height)
        channels = Array(repeating: [Double](repeating: 0, count: width * height), count: 3)
        for y in 0..<height {
            for x in 0..<width {
                let pixel = sample.pixel(x, y)
                for band in 0..<3 { channels[band][y * width + x] = Double(pixel[band]) }
            }
        }
    }

    private var transposed: ExactImage {
        ExactImage(
            width: height, height: width,
            channels: channels.map { channel in
                (0..<width * height).map { channel[$0 % height * width + $0 / height] }
            })
    }

    private var mirrored: ExactImage {
        ExactImage(
            width: width, height: height,
            channels: channels.map { channel in
                (0..<width * height).map { channel[$0 / width * width + width - 1 - $0 % width] }
            })
    }

    /// Upright, from one of EXIF's orientations.
    func upright(_ orientation: Int) -> ExactImage {
        let turned = orientation >= 5 ? transposed : self
        let isMirrored = [2, 3, 6, 7].contains(orientation), isFlipped = [3, 4, 7, 8].contains(orientation)
        let across = isMirrored ? turned.mirrored : turned
        return isFlipped ? across.transposed.mirrored.transposed : across
    }

    /// Resampled by Lanczos 3, each side by its own factor, without rounding.
    func resampled(_ width: Int, _ height: Int) -> ExactImage {
        narrowed(to: width).transposed.narrowed(to: height).transposed
    }

    private func narrowed(to count: Int) -> ExactImage {
        guard count != width else { return self }
        let scale = Double(width) / Double(count), radius = 3 * max(1, scale)
        var result = [[Double]](repeating: [Double](repeating: 0, count: count * height), count: 3)
        for x in 0..<count {
            let place = (Double(x) + 0.5) * scale - 0.5
            let taps = max(0, Int((place - radius).rounded(.up)))...min(width - 1, Int((place + radius).rounded(.down)))
            let weights = taps.map { Self.lanczos((Double($0) - place) / max(1, scale)) }
            let sum = weights.reduce(0, +)
            for band in 0..<3 {
                for y in 0..<height {
                    var value = 0.0
                    for (weight, tap) in zip(weights, taps) { value += weight * channels[band][y * width + tap] }
                    result[band][y * count + x] = value / sum
                }
            }
        }
        return ExactImage(width: count, height: height, channels: result)
    }

    private static func lanczos(_ x: Double) -> Double {
        if x == 0 { return 1 }
        return abs(x) < 3 ? 3 * sin(.pi * x) * sin(.pi * x / 3) / (.pi * .pi * x * x) : 0
    }

    func cropped(x left: Int, y top: Int, _ width: Int, _ height: Int) -> ExactImage {
        ExactImage(
            width: width, height: height,
            channels: channels.map { channel in
                (0..<width * height).map { channel[(top + $0 / width) * self.width + left + $0 % width] }
            })
    }

    /// Peak signal-to-noise ratio over all channels, in decibels, at most 60.
    func psnr(_ other: ExactImage) -> Double {
        var sum = 0.0
        for band in 0..<3 {
            for (one, another) in zip(channels[band], other.channels[band]) {
                let difference = min(max(one, 0), 255) - min(max(another, 0), 255)
                sum += difference * difference
            }
        }
        return min(60, 10 * log10(255 * 255 / (sum / Double(3 * width * height))))
    }

    /// Structural similarity of luma over windows of 7×7, or of the whole image where it is smaller.
    func ssim(_ other: ExactImage) -> Double {
        let (one, another) = (luma, other.luma)
        let (across, down) = (min(7, width), min(7, height)), count = Double(min(7, width) * min(7, height))
        var total = 0.0, windows = 0.0
        for top in stride(from: 0, through: height - down, by: 2) {
            for left in stride(from: 0, through: width - across, by: 2) {
                var sums = SIMD8<Double>.zero
                for y in top..<top + down {
                    for x in left..<left + across {
                        let a = one[y * width + x], b = another[y * width + x]
                        sums += SIMD8(a, b, a * a, b * b, a * b, 0, 0, 0)
                    }
                }
                let (a, b) = (sums[0] / count, sums[1] / count)
                let (va, vb, cov) = (sums[2] / count - a * a, sums[3] / count - b * b, sums[4] / count - a * b)
                let (c1, c2) = (6.5025, 58.5225)
                total += (2 * a * b + c1) * (2 * cov + c2) / ((a * a + b * b + c1) * (va + vb + c2))
                windows += 1
            }
        }
        return total / windows
    }

    private var luma: [Double] {
        (0..<width * height).map { 0.299 * channels[0][$0] + 0.587 * channels[1][$0] + 0.114 * channels[2][$0] }
    }
}
