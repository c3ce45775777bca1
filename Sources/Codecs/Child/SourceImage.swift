internal import ImageModel
internal import Transcoder

/// The original with its header read, by libvips and by the library that decodes planes.
struct SourceImage: ~Copyable {
    /// libvips does not copy buffers: the file must outlive every image made from it.
    let file: SourceFile
    let header: SourceHeader
    /// The metadata that a variant may keep.
    let copyright: KeptMetadata
    /// The colour profile, unless it is sRGB.
    let profile: [UInt8]?
    /// Nil if the header has no planes, and after they have been decoded.
    var planes: (any PlaneReader & ~Copyable)?

    /// Reads and checks the header without decoding pixels.
    ///
    /// - Parameter coder: the coder that made the picture; nil for an original.
    /// - Throws: `TranscodeError` 1001, 202, 203, 204.
    init(_ file: consuming SourceFile, _ limits: TranscodeLimits, coder: String? = nil) throws(TranscodeError) {
        var file = file
        let format = try Self.format(file.bytes, limits)
        if let repair = VipsCodec.all[format]?.repair { file.apply(repair(file.bytes)) }
        let read = try Self.read(format, file.bytes, limits)
        var header = read.header
        header.coder = coder
        planes = Self.planes(&header, read.profile, file.bytes)
        (self.header, copyright, profile) = (header, read.copyright, read.profile)
        self.file = file
    }

    /// Reads the header with libvips.
    private static func read(
        _ format: ImageFormat, _ bytes: UnsafeRawBufferPointer, _ limits: TranscodeLimits
    ) throws(TranscodeError) -> (header: SourceHeader, copyright: KeptMetadata, profile: [UInt8]?) {
        let found: (header: SourceHeader, copyright: KeptMetadata, profile: [UInt8]?)
        do throws(CodecFailure) {
            let opened = try LibvipsImage(format, bytes)
            found = (try opened.header(format, bytes), KeptMetadata(copyrightOf: opened), opened.profileToApply)
        } catch {
            throw error.as(.undecodable, "the \(format.name) cannot be read")
        }
        try limits.check(found.header)
        return found
    }

    /// Opens the file's planes and records them in the header.
    private static func planes(
        _ header: inout SourceHeader, _ profile: [UInt8]?, _ bytes: UnsafeRawBufferPointer
    ) -> (any PlaneReader & ~Copyable)? {
        // Profile tables need whole pixels: luma and chroma that are shrunk first have colours that are in no pixel.
        let isOfTables = profile.map { MatrixProfile($0) == nil } ?? false
        guard !isOfTables, let reader = PlaneCodec.all[header.format]?.open(bytes),
            reader.hasAlpha == header.hasAlpha
        else { return nil }
        header.hasPlanes = true
        header.hasPlanesToConvert = profile != nil
        return reader
    }

    /// The format of a complete file whose declared size is within the limits.
    private static func format(
        _ bytes: UnsafeRawBufferPointer, _ limits: TranscodeLimits
    ) throws(TranscodeError) -> ImageFormat {
        guard let format = ImageFormat.recognise(Array(bytes.prefix(ImageFormat.recognisedBytes))) else {
            throw TranscodeError(.undecodable, "the file is no known image")
        }
        try limits.check(format)
        guard (format.declaredEnd?(bytes) ?? 0) <= bytes.count else {
            throw TranscodeError(.undecodable, "the \(format.name) is cut short")
        }
        if let parts = format.parts, parts.count(bytes) > parts.limit {
            throw TranscodeError(
                .undecodable, "the \(format.name) has more than \(parts.limit) \(parts.name), which no image needs")
        }
        // Check before the codec: libvips allocates a WebP's whole canvas before it reports the size.
        if case .pixels(let width, let height) = DeclaredSize(bytes, format: format) {
            try limits.check(SourceHeader(format: format, width: width, height: height))
        }
        return format
    }
}
