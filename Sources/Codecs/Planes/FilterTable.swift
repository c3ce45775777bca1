private import Glibc

/// One axis of a resampling: the samples and weights from which each output sample is summed.
///
/// Lanczos 3 at exact fractions of the plane. Samples beyond the edge have no weight; the others are normalised to 1.
struct FilterTable: Sendable {
    /// Output samples.
    let count: Int
    /// Input samples per output sample.
    let taps: Int
    /// First input sample of each output sample; `first + taps` never exceeds the plane. Padded to whole groups.
    private(set) var first: [Int32] = []
    /// `taps` per output sample, with the sum 1. Padded to whole groups.
    private(set) var weights: [Float] = []

    /// - Parameters:
    ///   - count: output samples, at least 1.
    ///   - length: input samples, at least 1.
    ///   - start: the centre of the first output sample, relative to the centre of the first input sample.
    ///   - step: between two output samples; negative for a mirrored result.
    init(count: Int, length: Int, start: Double, step: Double) {
        let scale = max(1, abs(step))
        let radius = Self.radius * scale
        self.count = count
        let isCopy = abs(step) == 1 && start == start.rounded()
        taps = isCopy ? 1 : min(length, Int((2 * radius).rounded(.up)))
        first.reserveCapacity(count + Self.group)
        weights.reserveCapacity((count + Self.group) * taps)
        for index in 0..<(count + Self.group - 1) / Self.group * Self.group {
            let place = min(max(start + Double(min(index, count - 1)) * step, -0.5), Double(length) - 0.5)
            let lowest = isCopy ? Int(place) : Int((place - radius).rounded(.down)) + 1
            append(from: min(max(0, lowest), length - taps), around: place, scale: scale)
        }
    }

    /// The same result from a subsampled plane: the filter combined with the decoders' chroma upsampling.
    ///
    /// At factor 2 libjpeg and libwebp mix three parts of a pixel's own sample with one of the nearer neighbour; at
    /// higher factors they repeat samples.
    ///
    /// - Parameters:
    ///   - factor: subsampling relative to the plane of `fine`.
    ///   - length: samples of the subsampled plane.
    init(_ fine: FilterTable, factor: Int, length: Int) {
        count = fine.count
        let isMixed = factor == 2
        taps = min(length, isMixed ? fine.taps / 2 + 2 : (fine.taps + factor - 2) / factor + 1)
        first.reserveCapacity(fine.first.count)
        weights = [Float](repeating: 0, count: fine.first.count * taps)
        for (index, start) in fine.first.enumerated() {
            let lowest = isMixed ? (Int(start) - 1) >> 1 : Int(start) / factor
            let begin = min(max(0, lowest), length - taps)
            first.append(Int32(begin))
            let row = index * taps - begin
            for tap in 0..<fine.taps {
                let pixel = Int(start) + tap, weight = fine.weights[index * fine.taps + tap]
                let own = min(pixel / factor, length - 1)
                let next = isMixed ? min(max(0, own + pixel % 2 * 2 - 1), length - 1) : own
                weights[row + own] += weight * 0.75
                weights[row + next] += weight * 0.25
            }
        }
    }

    /// The kernel's reach to either side, in samples of the coarser plane.
    private static let radius = 3.0
    /// Results are computed in groups of this size.
    private static let group = 8
    /// Kernel values per sample.
    private static let steps = 1024.0

    /// The right half of the kernel, with a final zero.
    private static let kernel: [Float] = (0...Int(radius * steps) + 1).map { index in
        let x = Double(index) / steps * .pi
        guard x > 0 else { return 1 }
        return index < Int(radius * steps) ? Float(sin(x) / x * sin(x / radius) / (x / radius)) : 0
    }

    private mutating func append(from lowest: Int, around place: Double, scale: Double) {
        first.append(Int32(lowest))
        let start = weights.count
        var sum: Float = 0
        let factor = Self.steps / scale
        for tap in 0..<taps {
            let distance = abs(Double(lowest + tap) - place) * factor
            let index = min(Int(distance), Self.kernel.count - 2)
            let share = Float(distance - Double(index))
            let weight =
                distance < Self.radius * Self.steps
                ? Self.kernel[index] + (Self.kernel[index + 1] - Self.kernel[index]) * share : 0
            weights.append(weight)
            sum += weight
        }
        // A plane's only sample may lie at a zero of the kernel.
        guard sum > 0.01 else {
            weights[start] = 1
            return
        }
        for index in start..<weights.count { weights[index] /= sum }
    }
}
