private import Glibc
internal import ImageModel
internal import Transcoder

/// The pixels from which a plan's variants are drawn: decoded once, upright, at the largest size that an output needs.
/// The plan's path chooses the implementation.
protocol DecodedImage {
    /// Draws an output. The output that it starts from must already be drawn.
    func draw(_ number: Int, _ output: PlannedOutput) throws(CodecFailure) -> any DrawnImage

    /// Releases pixels that no output or digest needs any more.
    func forget(allBut progress: OutputProgress)

    /// The original's digest, from the smallest whole image in memory that is large enough.
    func digest() throws(CodecFailure) -> ImageDigest?
}

/// The pixels of one output.
protocol DrawnImage {
    var frames: Int { get }
    /// The size of one frame.
    var size: PixelSize { get }

    /// Encodes the pixels.
    ///
    /// - Parameter quality: 0…100; nil for a format without quality.
    func encoded(_ encoding: Encoding, quality: Int?) throws(CodecFailure) -> EncodedFile

    /// Red, green, blue and straight alpha of the first frame, row by row.
    func rawRGBA() throws(CodecFailure) -> EncodedFile
}

/// Encoded bytes in a library's memory; they must not outlive the object.
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

    /// - Throws: `CodecFailure` if out of memory.
    convenience init(copying bytes: [UInt8]) throws(CodecFailure) {
        guard let start = malloc(max(1, bytes.count)) else { throw CodecFailure.memory }
        start.copyMemory(from: bytes, byteCount: bytes.count)
        self.init(start, count: bytes.count, { free($0) })
    }

    deinit { release(UnsafeMutableRawPointer(mutating: bytes.baseAddress)) }
}

/// A codec's operation that failed.
struct CodecFailure: Error {
    let message: String
    /// Whether a rule failed the variant instead of a library, whose failures may be caused by lack of memory.
    var isByRule = false

    static let memory = CodecFailure(message: "out of memory")

    /// The failure as an error of its stage.
    func `as`(_ code: TranscodeError.Code, _ what: String) -> TranscodeError {
        TranscodeError(code, message.isEmpty ? what : "\(what): \(message)")
    }
}
