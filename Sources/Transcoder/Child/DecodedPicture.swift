internal import ImageModel

/// A decoded picture, by the path its plan has chosen.
enum DecodedPicture {
    case libvips(Pictures)
    case planes(PlanarPictures)

    /// Decodes all that the variants are drawn from.
    ///
    /// - Throws: `TranscodeError` 1001.
    init(_ file: borrowing SourceFile, _ header: SourceHeader, _ plan: DecodePlan) throws(TranscodeError) {
        let what = "the \(header.format.name) cannot be decoded"
        switch plan.path {
        case .planes:
            do throws(PlaneFailure) {
                self = .planes(try PlanarPictures(plan, file, header))
            } catch {
                throw error.as(.undecodable, what)
            }
        case .libvips:
            let pictures = Pictures(plan: plan)
            do throws(VipsFailure) {
                try pictures.decode(file, header, keepsProfile: false)
                if plan.needsOwnProfile { try pictures.decode(file, header, keepsProfile: true) }
            } catch {
                throw error.as(.undecodable, what)
            }
            self = .libvips(pictures)
        }
    }

    /// The pixels of an output.
    ///
    /// - Throws: `TranscodeError` 401.
    func draw(_ number: Int, _ output: PlannedOutput) throws(TranscodeError) -> DrawnVariant {
        let what = "the variant cannot be drawn"
        switch self {
        case .libvips(let pictures):
            do throws(VipsFailure) { return .frames(try pictures.draw(number, output)) } catch {
                throw error.as(.transform, what)
            }
        case .planes(let pictures):
            do throws(PlaneFailure) { return .planes(try pictures.draw(number, output)) } catch {
                throw error.as(.transform, what)
            }
        }
    }

    /// The bytes of an output at a quality.
    ///
    /// - Throws: `TranscodeError` 402.
    func encode(
        _ drawn: DrawnVariant, _ encoding: Encoding, quality: Int?, _ header: SourceHeader
    ) throws(TranscodeError) -> EncodedFile {
        let what = "the \(encoding.format.name) cannot be written"
        switch (self, drawn) {
        case (.libvips(let pictures), .frames(let frames)):
            do throws(VipsFailure) {
                return EncodedFile(try pictures.encode(frames, encoding, quality: quality, header))
            } catch {
                throw error.as(.encode, what)
            }
        case (.planes(let pictures), .planes(let picture)):
            do throws(PlaneFailure) {
                return EncodedFile(try pictures.encode(picture, encoding, quality: quality))
            } catch {
                throw error.as(.encode, what)
            }
        default: throw TranscodeError(.encode, what)
        }
    }

    /// The plain pixels of an output's first frame, which only libvips' path has.
    ///
    /// - Throws: `TranscodeError` 402.
    func pixels(_ drawn: DrawnVariant) throws(TranscodeError) -> EncodedFile {
        do throws(VipsFailure) {
            guard case .frames(let frames) = drawn, let first = frames.first else { throw VipsFailure() }
            return EncodedFile(try first.picture.rawRGBA())
        } catch {
            throw error.as(.encode, "the pixels cannot be written")
        }
    }

    /// From the smallest picture there is that is still large enough; no reason to fail.
    func digest(_ header: SourceHeader) -> ImageDigest? {
        switch self {
        case .libvips(let pictures): try? pictures.smallestWhole.digest(header)
        case .planes(let pictures): try? pictures.digest(header)
        }
    }
}

/// The pixels of one variant.
enum DrawnVariant {
    /// One picture for each frame.
    case frames([SharedPicture])
    case planes(PlanarPicture)

    /// Frames to be written.
    var frames: Int {
        switch self {
        case .frames(let frames): frames.count
        case .planes: 1
        }
    }
}

/// Encoded bytes that can be kept beside others.
final class EncodedFile {
    private enum Owner: ~Copyable {
        case libvips(EncodedPicture)
        case planes(EncodedPlanes)
    }

    private let owner: Owner

    init(_ picture: consuming EncodedPicture) { owner = .libvips(picture) }
    init(_ planes: consuming EncodedPlanes) { owner = .planes(planes) }

    var bytes: UnsafeRawBufferPointer {
        switch owner {
        case .libvips(let picture): picture.bytes
        case .planes(let planes): planes.bytes
        }
    }
}
