/// How long frames show and how often an animation plays.
package enum FrameTiming {
    /// Seconds a frame shows: too short ones, and missing ones, mean a tenth. From SDWebImage 5.21.5, SDImageIOAnimatedCoder.
    package static func duration(_ raw: Double?) -> Double {
        guard let raw, raw >= 0.011 else { return 0.1 }
        return raw
    }

    /// Milliseconds of every frame, from libvips' list, which may be too short.
    package static func milliseconds(_ raw: [Int], frames: Int) -> [Int] {
        (0..<frames).map { index in
            let value = index < raw.count ? Double(raw[index]) / 1000 : nil
            return Int((duration(value) * 1000).rounded())
        }
    }

    /// The count as the file has it: for a GIF that names one, libvips adds the first showing.
    package static func loopCount(_ raw: Int, of format: ImageFormat) -> Int {
        format == .gif && raw > 1 ? raw - 1 : max(0, raw)
    }

    /// What libvips has to be told, so that the file gets this count.
    package static func raw(loopCount: Int, for format: ImageFormat) -> Int {
        format == .gif && loopCount > 0 ? loopCount + 1 : loopCount
    }
}
