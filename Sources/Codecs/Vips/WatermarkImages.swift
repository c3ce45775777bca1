internal import ImageModel
internal import Transcoder

/// A request's watermarks, decoded when first needed.
final class WatermarkImages {
    private let files: [String: Int32]
    private let limits: TranscodeLimits
    private var decoded: [String: SharedImage] = [:]

    /// Maximum pixels of a watermark.
    static let maxPixels = 4_000_000
    /// Maximum bytes of a decoded watermark, including a copy at another size.
    static let maxBytes = maxPixels * 8

    /// - Parameter files: open descriptors by name; stay the caller's.
    init(_ files: [String: Int32], _ limits: TranscodeLimits) {
        self.files = files
        self.limits = limits
    }

    /// The file's image, upright, in 8-bit sRGB.
    func image(_ name: String) throws(CodecFailure) -> SharedImage {
        if let image = decoded[name] { return image }
        guard let file = files[name] else {
            throw CodecFailure(
                message: "the watermark '\(name)' is not in the directory of watermarks", isByRule: true)
        }
        do throws(TranscodeError) {
            let image = try decode(file)
            decoded[name] = image
            return image
        } catch {
            throw CodecFailure(
                message: "the watermark '\(name)': \(error.message)", isByRule: error.code != .undecodable)
        }
    }

    private func decode(_ descriptor: Int32) throws(TranscodeError) -> SharedImage {
        let source = try SourceImage(try SourceFile(descriptor: descriptor), limits), header = source.header
        guard header.storedSize.area <= Self.maxPixels else {
            throw TranscodeError(
                .pixels, "the image has \(header.storedSize.area) pixels; the limit is \(Self.maxPixels)")
        }
        do throws(CodecFailure) {
            let image = try LibvipsImage(header.format, source.file.bytes).inSRGB().inMemory()
            return SharedImage(
                header.orientation == 1 ? image : try image.upright(from: header.orientation).inMemory())
        } catch {
            throw error.as(.undecodable, "it cannot be decoded")
        }
    }
}

extension Watermark {
    /// The error if the margins leave no pixel.
    func noSpace(on image: PixelSize, margin: Int) -> String {
        "the watermark '\(file)' has no space: its margin is \(margin) pixels, the variant has \(image.text)"
    }
}

extension LibvipsImage {
    /// Draws a watermark over the image.
    ///
    /// - Parameter margin: distance from the edges in pixels.
    func marked(_ watermark: Watermark, margin: Int, _ images: WatermarkImages) throws(CodecFailure) -> LibvipsImage {
        let mark = try images.image(watermark.file)
        guard let place = Geometry.place(watermark, mark.image.size, on: size, margin: margin) else {
            throw CodecFailure(message: watermark.noSpace(on: size, margin: margin), isByRule: true)
        }
        let isScaled = mark.image.size != place.size
        let pixels = try isScaled ? mark.image.scaled(to: place.size).rawRGBA() : mark.image.rawRGBA()
        return try redrawn { raster in
            withExtendedLifetime(pixels) { raster.draw(pixels.bytes, place, opacity: watermark.opacity) }
        }
    }
}
