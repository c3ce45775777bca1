internal import ImageModel

/// One picture in a child, from its bytes to the files of its variants: read top to bottom.
struct PictureJob {
    let limits: TranscodeLimits
    let scale: Double
    let transformsAnimated: Bool
    let wantsDigest: Bool
    let givesPixels: Bool
    /// When the first stage began.
    private var start = ContinuousClock.now

    init(_ request: ChildRequest) {
        var limits = request.limits
        // Only libvips' path has pixels in red, green and blue.
        limits.allowsPlanes = limits.allowsPlanes && !request.givesPixels
        self.limits = limits
        scale = request.scale
        transformsAnimated = request.transformsAnimated
        wantsDigest = request.wantsDigest
        givesPixels = request.givesPixels
    }

    /// Time counts from here: what went before was waiting.
    mutating func begin() { start = .now }

    /// What a picture came to.
    struct Product {
        var outcomes: [Result<TranscodedVariant, TranscodeError>]
        var digest: ImageDigest?
    }

    /// Reads and checks the header; no pixel is decoded.
    ///
    /// - Throws: `TranscodeError` 1001, 202, 203, 204.
    func header(of file: borrowing SourceFile) throws(TranscodeError) -> SourceHeader {
        guard let format = file.format else { throw TranscodeError(.undecodable, "the file is no known image") }
        guard limits.formats.contains(format) else {
            throw TranscodeError(.undecodable, "pictures of format \(format.name) are not accepted")
        }
        // By the bytes first: libvips takes memory for all of a WebP's canvas before it tells the size.
        if case .pixels(let width, let height) = DeclaredSize(file.bytes, format: format) {
            try limits.check(SourceHeader(format: format, width: width, height: height))
        }
        let header: SourceHeader
        do throws(VipsFailure) {
            header = try VipsPicture(format, file.bytes).header(format, file.bytes)
        } catch {
            throw error.as(.undecodable, "the \(format.name) cannot be read")
        }
        try limits.check(header)
        return header
    }

    /// How the variants will be made.
    ///
    /// - Parameter writable: the formats this machine can write.
    /// - Throws: `TranscodeError` 205.
    func plan(
        _ header: SourceHeader, _ variants: [Variant], writable: Set<ImageFormat>
    ) throws(TranscodeError) -> DecodePlan {
        let drawn = variants.filter { !$0.isCopy(of: header, transformsAnimated: transformsAnimated) }
        let plan = DecodePlan(header, variants: drawn, scale: scale, limits: limits, writable: writable)
        try limits.checkMemory(plan.memoryBytes)
        return plan
    }

    /// Makes every variant and writes it to its output.
    ///
    /// - Parameter plan: that of the variants that are no copies.
    /// - Throws: `TranscodeError` when none can be made: 1001, 205, 206.
    func run(
        _ file: borrowing SourceFile, _ header: SourceHeader, _ plan: DecodePlan, variants: [Variant],
        outputs: [OutputDescriptor]
    ) throws(TranscodeError) -> Product {
        // Decoded even when nothing is drawn: what does not decode is no picture, and must not be stored as one.
        let pictures = try DecodedPicture(file, header, plan)
        let drawn = variants.indices.filter { !variants[$0].isCopy(of: header, transformsAnimated: transformsAnimated) }
        var made: [Int: Result<TranscodedVariant, TranscodeError>] = [:]
        var writer = VariantWriter(header: header, plan: plan, pictures: pictures, deadline: start + limits.softTime)
        writer.givesPixels = givesPixels
        for number in plan.order {
            made[drawn[number]] = Result { () throws(TranscodeError) in
                try writer.write(number, to: outputs[drawn[number]], limits)
            }
        }
        let outcomes = variants.indices.map { index -> Result<TranscodedVariant, TranscodeError> in
            if let result = made[index] { return result }
            guard let number = drawn.firstIndex(of: index) else {
                return copyOriginal(file, header, to: outputs[index])
            }
            return plan.outputs[number].flatMap { _ in .failure(TranscodeError(.died, "the variant was not made")) }
        }
        return Product(outcomes: outcomes, digest: wantsDigest ? pictures.digest(header) : nil)
    }

    /// An animated picture is not transformed unless asked: SDWebImage then stores the original under the variant's
    /// key, and so does Larder, saying so.
    private func copyOriginal(
        _ file: borrowing SourceFile, _ header: SourceHeader, to output: OutputDescriptor
    ) -> Result<TranscodedVariant, TranscodeError> {
        Result { () throws(TranscodeError) in
            try output.write(file.bytes)
            let size = header.uprightSize
            return TranscodedVariant(
                format: header.format, width: size.width, height: size.height, bytes: file.bytes.count, copied: true)
        }
    }
}
