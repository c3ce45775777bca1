public import ImageModel

/// The limits of one image. Errors name the exceeded limit and the value.
public struct TranscodeLimits: Sendable, Hashable, Codable {
    /// Accepted formats, by default `ImageFormat.acceptedByDefault`; `ImageFormat.acceptedOnRequest` may be added.
    public var formats: Set<ImageFormat> = ImageFormat.acceptedByDefault
    /// Programs for further formats. The last one with a matching signature makes the picture, also for formats in
    /// `formats`. None by default.
    public var coders: [ImageCoder] = []
    /// Pixels of one frame; 50,000,000 by default.
    public var framePixels = 50_000_000
    /// The original's longer edge in pixels; 16383 by default, WebP's limit.
    public var inputEdge = 16383
    /// A variant's longer edge in pixels; 8192 by default.
    public var outputEdge = 8192
    /// Frames of an animation; 100 by default, at most `SourceHeader.frameLimit`. Not applied to PNG and AVIF, which
    /// are decoded frame by frame and only if a variant needs the frames.
    public var frames = 100
    /// Pixels of all frames of an animation; 100,000,000 by default. For PNG and AVIF it limits the variants with all
    /// frames.
    public var animatedPixels = 100_000_000
    /// SDWebImage's option ScaleDownLargeImages: images with more decoded bytes, four per pixel, are decoded smaller.
    /// Nil by default, for no limit.
    public var scaleDownBytes: Int?
    /// Bytes of memory that a child may use for images beyond its idle memory; 1 GiB by default.
    public var memoryBytes = 1 << 30
    /// Processor time after which no further stage of an image starts; 20 s by default.
    public var softTime: Duration = .seconds(20)
    /// Processor time of all threads after which the child is killed; 30 s by default.
    public var hardTime: Duration = .seconds(30)
    /// Wall-clock time after which the child is killed; the image may be retried. 120 s by default.
    public var wallTime: Duration = .seconds(120)
    /// Whether images may be made from planes, without libvips; `true` by default.
    public var allowsPlanes = true

    /// The default limits.
    public init() {}

    /// Checks a header.
    ///
    /// - Throws: `TranscodeError` 1001 (format), 202, 203 or 204.
    package func check(_ header: SourceHeader) throws(TranscodeError) {
        try check(header.format)
        let needs = needs(of: header)
        let edge = max(header.width, header.height)
        try check(edge, inputEdge, .edge, needs) { "the longer edge has \($0) pixels" }
        let area = header.storedSize.area
        try check(area, framePixels, .pixels, needs) { "the image has \($0) pixels" }
        guard case .all = header.format.frames else { return }
        try check(header.frames, frames, .frames, needs) { "the image has \($0) frames" }
        try checkFrames(header)
    }

    /// Every setting that the header exceeds, so that one change is enough; omits settings that no image can need, as a
    /// header may declare any size.
    private func needs(of header: SourceHeader) -> [RequiredSetting] {
        let edge = max(header.width, header.height)
        let area = header.storedSize.area
        var needs: [RequiredSetting] = []
        if edge > inputEdge { needs.append(.inputEdge(edge)) }
        if area > framePixels { needs.append(.framePixels(area)) }
        if case .all = header.format.frames {
            if header.frames > frames { needs.append(.frames(header.frames)) }
            let (all, isTooLarge) = area.multipliedReportingOverflow(by: header.frames)
            if header.hasReadableFrames, !isTooLarge, all > animatedPixels { needs.append(.animatedPixels(all)) }
        }
        return needs.filter(\.isOfTranscoder)
    }

    /// Checks the frames before a variant gets all of them.
    ///
    /// - Throws: `TranscodeError` 204.
    package func checkFrames(_ header: SourceHeader) throws(TranscodeError) {
        guard header.hasReadableFrames else { return }
        try check(header.frames, SourceHeader.frameLimit, .frames) { "the image has \($0) frames" }
        let pixels = header.storedSize.area * header.frames
        try check(pixels, animatedPixels, .frames, [.animatedPixels(pixels)]) {
            "the image's frames have \($0) pixels in all"
        }
    }

    /// - Throws: `TranscodeError` 1001.
    package func check(_ format: ImageFormat) throws(TranscodeError) {
        guard formats.contains(format) else {
            throw TranscodeError(
                .undecodable, "images of format \(format.name) are not accepted",
                needs: ImageFormat.acceptedOnRequest.contains(format) ? [.format(format)] : [])
        }
    }

    /// Checks the size of a variant before it is made.
    ///
    /// - Throws: `TranscodeError` 203.
    package func checkOutput(_ size: PixelSize) throws(TranscodeError) {
        let edge = max(size.width, size.height)
        try check(edge, outputEdge, .edge, [.outputEdge(edge)]) { "the variant's longer edge has \($0) pixels" }
    }

    /// Checks an estimate before pixels are made.
    ///
    /// - Parameter what: the user of the memory, with the verb.
    /// - Throws: `TranscodeError` 205.
    package func checkMemory(_ bytes: Int, _ what: String = "the image needs") throws(TranscodeError) {
        try check(bytes, memoryBytes, .memory, [.memory(bytes)]) { "\(what) about \($0) bytes" }
    }

    /// Checks an estimate of processor time before the work starts.
    ///
    /// - Parameters:
    ///   - estimate: for the slowest images of its kind.
    ///   - spent: the image's processor time so far.
    /// - Throws: `TranscodeError` 206.
    package func checkTime(_ estimate: Duration, _ what: String, spent: Duration = .zero) throws(TranscodeError) {
        guard estimate > hardTime - spent else { return }
        func seconds(_ time: Duration) -> String { "\(Int((time / .seconds(1)).rounded(.up))) s" }
        let after = spent >= .seconds(1) ? " after \(seconds(spent))" : ""
        throw TranscodeError(
            .time, "\(what) may need \(seconds(estimate)) of processor time\(after); the limit is \(hardTime)",
            needs: [.time(Int(((estimate + spent) / .seconds(1)).rounded(.up)))])
    }

    /// Checks whether another stage of an image may start.
    ///
    /// - Parameter spent: the image's processor time so far.
    /// - Throws: `TranscodeError` 206.
    package func checkSoftTime(_ spent: Duration) throws(TranscodeError) {
        guard spent < softTime else {
            throw TranscodeError(.time, "the image took \(softTime) of processor time", needs: [moreTime])
        }
    }

    /// Twice the limit, as the needed time is unknown.
    var moreTime: RequiredSetting { .time(max(1, Int((hardTime * 2 / .seconds(1)).rounded(.up)))) }

    /// Twice the limit, as the needed memory is unknown.
    var moreMemory: RequiredSetting { .memory(memoryBytes * 2) }

    private func check(
        _ value: Int, _ limit: Int, _ code: TranscodeError.Code, _ needs: [RequiredSetting] = [],
        _ text: (Int) -> String
    ) throws(TranscodeError) {
        if value > limit { throw TranscodeError(code, "\(text(value)); the limit is \(limit)", needs: needs) }
    }
}
