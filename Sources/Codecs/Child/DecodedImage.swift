private import Glibc
internal import ImageModel
internal import Transcoder

/// The pixels that the variants of a plan are drawn from, decoded once, upright, at the largest size that an output
/// needs. The plan's path chooses the implementation.
protocol DecodedImage {
    /// Draws an output. The output that it starts from must have been drawn before.
    func draw(_ number: Int, _ output: PlannedOutput) throws(CodecFailure) -> any DrawnImage

    /// Releases the pixels that neither an output nor the digest needs any more.
    func forget(allBut progress: OutputProgress)

    /// A digest of the original, from the smallest whole image in memory that is large enough.
    func digest() throws(CodecFailure) -> ImageDigest?
}

/// The pixels of one output.
protocol DrawnImage {
    /// Frames that are written.
    var frames: Int { get }
    /// The size of one.
    var size: PixelSize { get }

    /// Encodes the pixels.
    ///
    /// - Parameter quality: 0…100; nil for a format without a quality.
    func encoded(_ encoding: Encoding, quality: Int?) throws(CodecFailure) -> EncodedFile

    /// Red, green, blue and straight alpha of each pixel of the first frame, row by row.
    func rawRGBA() throws(CodecFailure) -> EncodedFile
}

/// Encoded bytes in the memory of the library that wrote them; the bytes must not outlive the object.
final class EncodedFile {
    let bytes: UnsafeRawBufferPointer
    private let release: @convention(c) (UnsafeMutableRawPointer?) -> Void

    /// - Parameter release: the library's function that frees the memory.
    init(
        _ start: UnsafeMutableRawPointer?, count: Int,
        _ release: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void
    ) {
        bytes = UnsafeRawBufferPointer(start: start, count: count)
        self.release = release
    }

    /// - Throws: `CodecFailure` when there is no memory.
    convenience init(copying bytes: [UInt8]) throws(CodecFailure) {
        guard let start = malloc(max(1, bytes.count)) else { throw CodecFailure.memory }
        start.copyMemory(from: bytes, byteCount: bytes.count)
        self.init(start, count: bytes.count, { free($0) })
    }

    deinit { release(UnsafeMutableRawPointer(mutating: bytes.baseAddress)) }
}

/// A codec's operation that failed.
struct CodecFailure: Error {
    /// The library's message.
    let message: String
    /// Whether a rule failed the variant and not a library, whose failures may be for want of memory.
    var isByRule = false

    static let memory = CodecFailure(message: "out of memory")

    /// The failure as an error of the stage where it happened.
    func `as`(_ code: TranscodeError.Code, _ what: String) -> TranscodeError {
        TranscodeError(code, message.isEmpty ? what : "\(what): \(message)")
    }
}
