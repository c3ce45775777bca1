private import CVips
internal import ImageModel
internal import Transcoder

extension LibvipsImage {
    /// Opens an image of a known format without reading pixels. `bytes` must outlive the image.
    ///
    /// - Parameters:
    ///   - shrink: libjpeg's shrink factor, 1, 2, 4 or 8; other formats ignore it.
    ///   - frames: frames of a GIF or WebP, one below another; -1 for all.
    /// - Throws: `CodecFailure`, also for a format without a loader.
    init(_ format: ImageFormat, _ bytes: UnsafeRawBufferPointer, shrink: Int = 1, frames: Int = 1) throws(CodecFailure)
    {
        guard let codec = VipsCodec.all[format] else { throw CodecFailure(message: "there is no loader") }
        let options = codec.loadOptions(shrink, frames)
        let loaded = try LibvipsImage { larder_load(codec.loader, bytes.baseAddress, bytes.count, options, $0) }
        if let description = loaded.bytes("icc-profile-data").flatMap({ codec.namedColor?($0) }) {
            self = try loaded.described(ColorDescription.Source(description: description, isBeforeProfile: true))
            return
        }
        guard let source = codec.color?(bytes) else {
            self = loaded
            return
        }
        self = try loaded.described(source)
    }

    /// Opens a file that this process has written, even if the format's parser is blocked for other files.
    init(written format: ImageFormat, _ bytes: UnsafeRawBufferPointer) throws(CodecFailure) {
        let codec = VipsCodec.all[format]
        let isBlocked = codec?.blockedParser != nil && !VipsLibrary.allows(codec?.loader)
        guard isBlocked, let parser = codec?.blockedParser else {
            try self.init(format, bytes)
            return
        }
        vips_operation_block_set(parser, 0)
        defer { vips_operation_block_set(parser, 1) }
        try self.init(format, bytes)
    }

    /// With straight alpha, and with the description's profile unless that is sRGB.
    private func described(_ source: ColorDescription.Source) throws(CodecFailure) -> LibvipsImage {
        let straight = source.isPremultiplied && hasAlpha
        let image = straight ? try roundedStraight().asFormat(of: self) : try copy()
        let field = "icc-profile-data"
        guard let description = source.description, source.isBeforeProfile || !hasField(field) else { return image }
        vips_image_remove(image.pointer, field)
        if !description.isSRGB, let profile = description.profile(isGrey: bands < 3) {
            vips_image_set_blob_copy(image.pointer, field, profile, profile.count)
        }
        return image
    }

    /// The opened image's header, without planes.
    ///
    /// - Throws: `CodecFailure` for an animated PNG that is truncated or has invalid frames.
    func header(_ format: ImageFormat, _ bytes: UnsafeRawBufferPointer) throws(CodecFailure) -> SourceHeader {
        var header = SourceHeader(
            format: format, width: size.width, height: size.height, orientation: orientation(format),
            hasAlpha: hasAlpha, isInterlaced: hasField("jpeg-multiscan") || hasField("interlaced"))
        if format == .gif, !hasAlpha { header.hasAlpha = GIFCoverage(bytes, canvas: size).hasHoles }
        if case .all = format.frames, frames > 1 {
            header.frames = frames
            let plays = integer("loop") ?? 0, addsFirstPlay = VipsCodec.all[format]?.addsFirstPlay == true
            header.loopCount = FrameTiming.loopCount(plays, addsFirstPlay: addsFirstPlay)
            header.hasLoopBlock = addsFirstPlay && plays != 1
            header.frameMilliseconds = FrameTiming.milliseconds(integers("delay"), frames: header.frames)
        }
        if format == .png, let animation = try PNGAnimation(bytes) {
            header.frames = animation.frames.count
            header.loopCount = animation.loopCount
            header.frameMilliseconds = FrameTiming.milliseconds(animation.frames.map(\.seconds))
            header.hasAlpha = hasAlpha || animation.clearsCanvas
        }
        // Only frames of the still's size, for which the plan is made.
        if format == .avif, let sequence = AVIFSequence(bytes), sequence.size == size {
            header.frames = sequence.seconds.count
            header.frameMilliseconds = FrameTiming.milliseconds(sequence.seconds)
            header.hasAlpha = hasAlpha || sequence.hasAlpha
        }
        if let count = format.countedFrames?(bytes) { header.frames = count }
        if header.frames > SourceHeader.frameLimit { header.frameMilliseconds = [] }
        header.hasOwnProfile = !isCMYK && profileToApply.flatMap(ICCProfile.space) == "RGB "
        return header
    }

    /// From EXIF, else from XMP; libheif has already rotated its images.
    private func orientation(_ format: ImageFormat) -> Int {
        if hasField("orientation") {
            let value = Int(vips_image_get_orientation(pointer))
            return (1...8).contains(value) ? value : 1
        }
        return format.hasXMPOrientation ? bytes("xmp-data").flatMap(XMPOrientation.read) ?? 1 : 1
    }
}

/// The duration of frames and the loop count of an animation.
enum FrameTiming {
    /// A frame's duration in seconds; 0.1 if the file has none or less than 11 ms. Source: SDWebImage 5.21.5,
    /// SDImageIOAnimatedCoder.
    static func duration(_ raw: Double?) -> Double {
        guard let raw, raw >= 0.011 else { return 0.1 }
        return raw
    }

    /// Milliseconds of every frame, from libvips' list, which may be too short.
    static func milliseconds(_ raw: [Int], frames: Int) -> [Int] {
        milliseconds((0..<frames).map { $0 < raw.count ? Double(raw[$0]) / 1000 : nil })
    }

    /// Milliseconds of every frame, from seconds.
    static func milliseconds(_ seconds: [Double?]) -> [Int] { seconds.map { Int((duration($0) * 1000).rounded()) } }

    /// The file's loop count, from libvips' value.
    static func loopCount(_ raw: Int, addsFirstPlay: Bool) -> Int {
        addsFirstPlay && raw > 1 ? raw - 1 : max(0, raw)
    }

    /// The value for libvips, from a file's loop count.
    ///
    /// - Parameter hasBlock: whether the count comes from a GIF's loop block. Otherwise an animation that plays once
    ///   becomes a GIF without the block, because browsers play a count of 1 twice.
    static func raw(loopCount: Int, addsFirstPlay: Bool, hasBlock: Bool) -> Int {
        guard addsFirstPlay, loopCount > 0 else { return loopCount }
        return loopCount == 1 && !hasBlock ? 1 : loopCount + 1
    }
}

/// The orientation in XMP, used if EXIF has none. Some programs write only this one, and Apple's codecs, which
/// SDWebImage uses, apply it.
enum XMPOrientation {
    /// 1…8; nil if there is none. Searches for the property's two forms without parsing RDF.
    static func read(_ xmp: [UInt8]) -> Int? {
        let name = Array("tiff:Orientation".utf8)
        guard xmp.count > name.count + 2 else { return nil }
        let quotes: [UInt8] = [UInt8(ascii: "\""), UInt8(ascii: "'")]
        for start in 0..<(xmp.count - name.count - 2) where xmp[start..<start + name.count].elementsEqual(name) {
            // tiff:Orientation="3", or <tiff:Orientation>3</tiff:Orientation>.
            let after = Array(xmp[(start + name.count)...].prefix(3))
            let isAttribute = after.count == 3 && after[0] == UInt8(ascii: "=") && quotes.contains(after[1])
            let digit = isAttribute ? after[2] : after[0] == UInt8(ascii: ">") ? after[1] : 0
            if (UInt8(ascii: "1")...UInt8(ascii: "8")).contains(digit) { return Int(digit - UInt8(ascii: "0")) }
        }
        return nil
    }
}
