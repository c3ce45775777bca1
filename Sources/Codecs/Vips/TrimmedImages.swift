internal import ImageModel
internal import Transcoder

/// The parts of one image that are left without a border: finding one takes longer than most drawings, so outputs with
/// the same trim share it.
final class TrimmedImages {
    private var parts: [Trim: SharedImage] = [:]

    /// The part within the border, which is a view of the image in memory.
    func part(_ trim: Trim, of whole: SharedImage) throws(CodecFailure) -> SharedImage {
        if let part = parts[trim] { return part }
        let part = SharedImage(try whole.image.trimmed(trim))
        parts[trim] = part
        return part
    }

    /// The image on which an output's steps are drawn, and those steps: of an output that begins with a trim the part
    /// without the border, on whose size they depend.
    func start(
        of output: PlannedOutput, _ steps: ArraySlice<DrawStep>, whole: SharedImage
    ) throws(CodecFailure) -> (image: SharedImage, steps: ArraySlice<DrawStep>) {
        guard case .trim? = steps.first, let trimming = output.drawing.trimming else { return (whole, steps) }
        let part = try part(trimming.trim, of: whole)
        do throws(TranscodeError) {
            return (part, try trimming.drawing(of: part.image.size).steps[...])
        } catch {
            throw CodecFailure(message: error.message, isByRule: true)
        }
    }
}
