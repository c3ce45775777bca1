internal import ImageModel
internal import Transcoder

/// Makes an output's file: at its quality, at the highest quality within a byte limit, at the lowest quality with a
/// similarity, or in the format with the smallest file.
///
/// When the time is over, or one more attempt would exceed it, the best file so far counts.
struct FileSearch {
    /// A file with its encoding.
    struct Found {
        let file: EncodedFile
        let encoding: Encoding
        var quality: Int?
        var ssim: Double?
        /// Whether it is within the byte limit, or similar enough.
        var fits = true

        /// Whether it is the better of two formats: similar enough, then smaller; else more similar.
        func isBetter(than other: Found) -> Bool {
            if fits != other.fits { return fits }
            return fits ? file.bytes.count < other.file.bytes.count : (ssim ?? 1) > (other.ssim ?? 1)
        }
    }

    private let drawn: any DrawnImage
    private let output: PlannedOutput
    private let limits: TranscodeLimits
    /// The image's processor time so far.
    private let spent: () -> Duration

    init(_ drawn: any DrawnImage, _ output: PlannedOutput, _ limits: TranscodeLimits, spent: @escaping () -> Duration) {
        self.drawn = drawn
        self.output = output
        self.limits = limits
        self.spent = spent
    }

    /// - Throws: `TranscodeError` 206, 402.
    func file() throws(TranscodeError) -> Found {
        let encoding = output.encoding
        guard encoding.ssim != nil || !encoding.others.isEmpty else { return try file(encoding) }
        let similarity: FileSimilarity
        do throws(CodecFailure) { similarity = try FileSimilarity(drawn, encoding) } catch {
            throw error.as(.encode, "the variant cannot be compared")
        }
        var best: Found?, failure: TranscodeError?
        for candidate in encoding.all where best == nil && failure == nil || hasTime(for: candidate) {
            do throws(TranscodeError) {
                let found = try file(candidate, similarity, smallerThan: best)
                if best.map(found.isBetter) ?? true { best = found }
            } catch {
                failure = failure ?? error
            }
        }
        guard let best else { throw failure ?? TranscodeError(.encode, "no format was tried") }
        return best
    }

    /// Raw pixels instead of a file.
    func rawRGBA() throws(TranscodeError) -> Found {
        do throws(CodecFailure) { return Found(file: try drawn.rawRGBA(), encoding: output.encoding) } catch {
            throw error.as(.encode, "the pixels cannot be written")
        }
    }

    /// Whether there is time for one more format, estimated for the slowest images.
    private func hasTime(for encoding: Encoding) -> Bool {
        let nanoseconds = encoding.nanoseconds * encoding.margin * Double(output.drawing.size.area)
        let estimate = Duration.nanoseconds(Int64(nanoseconds))
        return spent() < limits.softTime && spent() + estimate <= limits.hardTime
    }

    private func file(_ encoding: Encoding) throws(TranscodeError) -> Found {
        guard let highest = encoding.quality, let maxBytes = encoding.maxBytes else {
            return Found(file: try attempt(encoding, encoding.quality), encoding: encoding, quality: encoding.quality)
        }
        return try search(encoding, highest: highest, isRising: true, smallerThan: nil) {
            ($0.bytes.count <= maxBytes, nil)
        }
    }

    private func file(
        _ encoding: Encoding, _ similarity: FileSimilarity, smallerThan best: Found?
    ) throws(TranscodeError) -> Found {
        guard let highest = encoding.quality, let wanted = encoding.ssim else {
            return Found(file: try attempt(encoding, nil), encoding: encoding, ssim: 1)
        }
        return try search(encoding, highest: highest, isRising: false, smallerThan: best) {
            (file) throws(CodecFailure) in
            let value = try similarity.value(file, encoding)
            return (value >= wanted, value)
        }
    }

    /// Tries qualities up to `highest`. A failed attempt ends the search.
    ///
    /// - Parameters:
    ///   - isRising: returns the highest quality that fits, else the lowest tried; false returns the lowest that fits.
    ///   - best: another format's file; the search ends if it cannot find a smaller one.
    private func search(
        _ encoding: Encoding, highest: Int, isRising: Bool, smallerThan best: Found?,
        _ measure: (EncodedFile) throws(CodecFailure) -> (fits: Bool, ssim: Double?)
    ) throws(TranscodeError) -> Found {
        var search = QualitySearch(highest: highest), longest = Duration.zero
        var found: Found?
        while let step = search.next {
            if search.best != nil && (spent() >= limits.softTime || spent() + longest > limits.hardTime) { break }
            // The first attempt belongs to the stage that began with drawing.
            if found != nil { try limits.checkSoftTime(spent()) }
            let quality = isRising ? step : max(1, highest) + 1 - step, before = spent()
            let made: Found
            do throws(TranscodeError) {
                let file = try attempt(encoding, quality)
                let measured: (fits: Bool, ssim: Double?)
                do throws(CodecFailure) { measured = try measure(file) } catch {
                    throw error.as(.encode, "the \(encoding.format.name) cannot be compared")
                }
                made = Found(
                    file: file, encoding: encoding, quality: quality, ssim: measured.ssim, fits: measured.fits)
            } catch {
                if search.best == nil { throw error }
                break
            }
            longest = max(longest, spent() - before)
            if made.fits || search.best == nil { found = made }
            search.record(fits: made.fits)
            // A sufficiently similar file would be larger than this one.
            if let best, best.fits, !made.fits, made.file.bytes.count >= best.file.bytes.count { break }
        }
        guard let found else { throw TranscodeError(.encode, "no quality was tried") }
        return found
    }

    private func attempt(_ encoding: Encoding, _ quality: Int?) throws(TranscodeError) -> EncodedFile {
        do throws(CodecFailure) { return try drawn.encoded(encoding, quality: quality) } catch {
            throw error.as(.encode, "the \(encoding.format.name) cannot be written")
        }
    }
}

/// Compares files with the pixels from which they were encoded.
struct FileSimilarity {
    private let reference: StructuralSimilarity

    init(_ drawn: any DrawnImage, _ encoding: Encoding) throws(CodecFailure) {
        let size = drawn.size, pixels = try drawn.rawRGBA()
        guard pixels.bytes.count == size.area * 4 else { throw CodecFailure.otherPixels }
        let color = encoding.background.map { SIMD4($0.red, $0.green, $0.blue, $0.alpha) } ?? SIMD4(repeating: 1)
        // Composite a translucent colour on white, as when writing the file.
        let onWhite = (color * color.w + (1 - color.w)) * 255
        let background = SIMD3(Float(onWhite.x), Float(onWhite.y), Float(onWhite.z))
        reference = withExtendedLifetime(pixels) {
            StructuralSimilarity(pixels.bytes, width: size.width, height: size.height, background: background)
        }
    }

    /// The structural similarity of a file, decoded as an app would.
    func value(_ file: EncodedFile, _ encoding: Encoding) throws(CodecFailure) -> Double {
        let decoded = try LibvipsImage(written: encoding.format, file.bytes)
        let pixels = try (encoding.keepICC ? decoded.asByteRGB() : decoded.inSRGB()).rawRGBA()
        guard let value = withExtendedLifetime((pixels, file), { reference.value(pixels.bytes) }) else {
            throw CodecFailure.otherPixels
        }
        return value
    }
}
