/// The duration of frames and the loop count of an animation.
enum FrameTiming {
    /// The duration of a frame in seconds; 0.1 when the file has none or less than 11 ms. Source: SDWebImage 5.21.5,
    /// SDImageIOAnimatedCoder.
    static func duration(_ raw: Double?) -> Double {
        guard let raw, raw >= 0.011 else { return 0.1 }
        return raw
    }

    /// Milliseconds of every frame, from libvips' list, which may be too short.
    static func milliseconds(_ raw: [Int], frames: Int) -> [Int] {
        milliseconds((0..<frames).map { $0 < raw.count ? Double(raw[$0]) / 1000 : nil })
    }

    /// Milliseconds of every frame, from its seconds in the file.
    static func milliseconds(_ seconds: [Double?]) -> [Int] { seconds.map { Int((duration($0) * 1000).rounded()) } }

    /// The count in the file, from the one that libvips gives.
    static func loopCount(_ raw: Int, addsFirstPlay: Bool) -> Int {
        addsFirstPlay && raw > 1 ? raw - 1 : max(0, raw)
    }

    /// The count to give to libvips for a count in the file.
    ///
    /// - Parameter hasBlock: whether the count comes from a block in a GIF. Else an animation that plays once becomes a
    ///   GIF without the block: browsers play one with the count 1 twice.
    static func raw(loopCount: Int, addsFirstPlay: Bool, hasBlock: Bool) -> Int {
        guard addsFirstPlay, loopCount > 0 else { return loopCount }
        return loopCount == 1 && !hasBlock ? 1 : loopCount + 1
    }
}
