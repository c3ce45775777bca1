private import FoundationEssentials
internal import ImageModel

/// The first message to a child: what is the same for all its requests.
struct ChildSetup: Codable, Sendable {
    /// The version of these messages. Both ends are one program, so a difference is a faulty configuration.
    static let version = 10

    var version = ChildSetup.version
    let limits: TranscodeLimits
    /// Whether an image is refused where the kernel lacks a part of the sandbox.
    let sandbox: SandboxPolicy
}

/// A request from the pool to a child: one message, with the descriptors attached.
struct ChildRequest: Codable, Sendable {
    /// The longest message, far above 32 variants of 16 transformers each.
    static let maxLength = 192 << 10
    /// A child requests a grant from the pool for an image that needs more memory than this.
    static let unreservedBytes = 64 << 20

    enum Operation: String, Codable {
        /// Makes the variants. Descriptors: the source, one output per variant, the watermarks.
        case transcode
        /// Reads the header. Descriptor: the source.
        case probe
        /// Reads the header and tests the encoders that the variants need. Descriptor: the source.
        case plan
        /// Tests the codecs. No descriptors.
        case selfTest
        /// Only enters the sandbox. No descriptors.
        case sandbox
    }

    /// Repeated in the reply.
    let number: UInt64
    let operation: Operation
    /// The variants as a JSON list. Images of one pipeline have the same text, which a child parses once.
    var variants = "[]"
    var scale = 1.0
    var options: TranscodeRequest.Options = []
    var wantsDigest = false
    var wantsRawRGBA = false
    /// The names of the watermarks, whose descriptors follow those of the outputs.
    var watermarks: [String] = []
    /// Takes the place of that in the limits of the setup, unless nil.
    var scaleDownBytes: Int?
}

extension ChildRequest {
    /// - Parameter variants: those of `request` as JSON.
    init(_ operation: Operation, number: UInt64, _ request: TranscodeRequest?, variants: String) {
        self.init(number: number, operation: operation)
        guard let request else { return }
        self.variants = variants
        scale = request.scale
        options = request.options
        wantsDigest = request.wantsDigest
        wantsRawRGBA = request.wantsRawRGBA
        watermarks = request.watermarks
        scaleDownBytes = request.scaleDownBytes
    }
}

/// The pool's grant of the memory that a child requested.
struct ChildGrant: Codable, Sendable {
    /// The request's number.
    let number: UInt64
}

/// A message from a child. Each request has one `reply`, which is its last message; the others come before it.
struct ChildMessage: Codable, Sendable {
    enum Content: Codable, Sendable {
        /// The child waits until the pool grants this much memory, in bytes. At most once, before the image is decoded.
        case wantsMemory(Int)
        /// The image is decoded.
        case decoded(SourceHeader)
        /// The outcome of the variant with this index. What is written stays good when the child is lost later.
        case finished(Int, ChildReply.Outcome)
        case reply(ChildReply)
    }

    /// The request's number.
    let number: UInt64
    let content: Content
}

/// The answer of a child to a request.
struct ChildReply: Codable, Sendable {
    enum Outcome: Codable, Sendable {
        case made(TranscodedVariant)
        case failed(TranscodeError)

        init(_ result: Result<TranscodedVariant, TranscodeError>) {
            switch result {
            case .success(let variant): self = .made(variant)
            case .failure(let error): self = .failed(error)
            }
        }

        var result: Result<TranscodedVariant, TranscodeError> {
            switch self {
            case .made(let variant): .success(variant)
            case .failed(let error): .failure(error)
            }
        }

        var error: TranscodeError? { if case .failed(let error) = self { error } else { nil } }
    }

    /// Why the request failed as a whole.
    var failure: TranscodeError?
    /// Of a probe or a plan.
    var header: SourceHeader?
    /// Those of all variants; empty from a child unless they replace what earlier messages said.
    var outcomes: [Outcome] = []
    var digest: ImageDigest?
    /// The formats that this machine can write, for a plan.
    var writable: Set<ImageFormat> = []
    var codecs: CodecReport?
    /// What the kernel denies the child.
    var sandbox: SandboxLevel?
    var processorTime: Duration = .zero
    /// Of that, the time of decoding, drawing and encoding.
    var codecTime: Duration = .zero
    var residentBytes = 0
    var peakResidentBytes = 0
    /// Whether the child must be replaced because its memory came near the limit.
    var mustRecycle = false
}

extension ChildReply {
    /// Whether a library failed, by decoding, drawing or encoding.
    ///
    /// - Parameter drawings: the variants that one failed to draw, which others fail by a rule.
    func hasCodecFailure(_ drawings: Set<Int>) -> Bool {
        Self.isCodecs(failure)
            || outcomes.indices.contains { Self.isCodecs(outcomes[$0].error, isDrawing: drawings.contains($0)) }
    }

    /// Puts memory that has run out in the place of what libraries report then: bad data, or a failure to draw or to
    /// encode.
    mutating func blameMemory(_ drawings: Set<Int>, limit: Int) {
        let error = TranscodeError(.memory, "the image needs more than \(limit) bytes")
        if Self.isCodecs(failure) { failure = error }
        for index in outcomes.indices where Self.isCodecs(outcomes[index].error, isDrawing: drawings.contains(index)) {
            outcomes[index] = .failed(error)
        }
    }

    private static func isCodecs(_ error: TranscodeError?, isDrawing: Bool = false) -> Bool {
        switch error?.code {
        case .undecodable, .encode: true
        case .transform: isDrawing
        default: false
        }
    }
}

extension Encodable {
    /// The bytes of the message.
    func message() throws(TranscodeError) -> [UInt8] {
        do {
            return Array(try JSONEncoder().encode(self))
        } catch {
            throw TranscodeError(.died, "a message to the child cannot be written")
        }
    }
}

extension Decodable {
    init(message: [UInt8]) throws(TranscodeError) {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(message))
        } catch {
            throw TranscodeError(.died, "a message of the child cannot be read")
        }
    }
}
