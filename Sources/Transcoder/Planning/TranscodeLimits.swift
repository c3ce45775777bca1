public import ImageModel

/// What one picture may cost; exceeding a limit is an error that names the limit and the value.
public struct TranscodeLimits: Sendable, Hashable, Codable {
    /// The formats let in, by default `ImageFormat.acceptedByDefault`; of the others `ImageFormat.acceptedOnRequest` can be.
    public var formats: Set<ImageFormat> = ImageFormat.acceptedByDefault
    /// Pixels of one frame; default 50,000,000.
    public var framePixels = 50_000_000
    /// The longer edge of the original, in pixels; default 16383, which is also WebP's.
    public var inputEdge = 16383
    /// The longer edge of a variant, in pixels; default 8192.
    public var outputEdge = 8192
    /// Frames of an animated picture; default 100. Those of an animated PNG do not count: libvips sees the first alone.
    public var frames = 100
    /// Pixels of all frames of an animated picture together; default 100,000,000.
    public var animatedPixels = 100_000_000
    /// SDWebImage's option ScaleDownLargeImages: pictures that take more bytes decoded, four a pixel, are decoded
    /// smaller. Default nil, for never.
    public var scaleDownBytes: Int?
    /// Memory a child may take for pictures on top of what it needs to live; default 1 GiB.
    public var memoryBytes = 1 << 30
    /// After this time no further stage of a picture is begun; default 20 s.
    public var softTime: Duration = .seconds(20)
    /// After this time the child is killed; default 30 s.
    public var hardTime: Duration = .seconds(30)

    /// Whether pictures are made from their planes, without libvips in between, where that can be; default true.
    public var allowsPlanes = true

    /// The default limits.
    public init() {}

    /// Checks what a header says.
    ///
    /// - Throws: `TranscodeError` 1001 (format), 202, 203 or 204.
    public func check(_ header: SourceHeader) throws(TranscodeError) {
        guard formats.contains(header.format) else {
            throw TranscodeError(.undecodable, "pictures of format \(header.format.name) are not accepted")
        }
        let edge = max(header.width, header.height)
        guard edge <= inputEdge else {
            throw TranscodeError(.edge, "the longer edge has \(edge) pixels; the limit is \(inputEdge)")
        }
        let area = header.storedSize.area
        guard area <= framePixels else {
            throw TranscodeError(.pixels, "the picture has \(area) pixels; the limit is \(framePixels)")
        }
        guard header.format != .png else { return }
        guard header.frames <= frames else {
            throw TranscodeError(.frames, "the picture has \(header.frames) frames; the limit is \(frames)")
        }
        if header.isAnimated && area * header.frames > animatedPixels {
            throw TranscodeError(
                .frames,
                "the picture's frames have \(area * header.frames) pixels in all; the limit is \(animatedPixels)")
        }
    }

    /// Checks the size of a variant before it is made.
    ///
    /// - Throws: `TranscodeError` 203.
    func checkOutput(_ size: PixelSize) throws(TranscodeError) {
        let edge = max(size.width, size.height)
        guard edge <= outputEdge else {
            throw TranscodeError(.edge, "the variant's longer edge has \(edge) pixels; the limit is \(outputEdge)")
        }
    }

    /// Checks an estimate before pixels are made.
    ///
    /// - Throws: `TranscodeError` 205.
    func checkMemory(_ bytes: Int) throws(TranscodeError) {
        guard bytes <= memoryBytes else {
            throw TranscodeError(.memory, "the picture needs about \(bytes) bytes; the limit is \(memoryBytes)")
        }
    }
}
