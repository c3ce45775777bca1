private import FoundationEssentials
package import ImageModel

/// The first message to a child: what is the same for all its requests.
package struct ChildSetup: SocketMessage {
    /// The version of these messages. Both programs are of one build, unless a configuration names another one's.
    package static let version = 12

    /// What every version of the message has.
    package struct Version: SocketMessage {
        package let version: Int
    }

    package var version = ChildSetup.version
    package let limits: TranscodeLimits
    /// Whether an image is refused where the kernel lacks a part of the sandbox.
    package let sandbox: SandboxPolicy
}

/// A request from the pool to a child: one message, with the descriptors attached.
package struct ChildRequest: SocketMessage {
    /// The longest message, far above 32 variants of 16 transformers each.
    package static let maxLength = 192 << 10
    /// A child requests a grant from the pool for an image that needs more memory than this.
    package static let unreservedBytes = 64 << 20

    package enum Operation: String, Codable {
        /// Makes the variants. Descriptors: the source, one output per variant, the watermarks.
        case transcode
        /// Reads the header. Descriptor: the source.
        case probe
        /// Plans the variants and decodes no pixel. Descriptor: the source.
        case plan
        /// Tests the codecs. No descriptors.
        case selfTest
        /// Enters the sandbox and tries the encoders. No descriptors.
        case abilities
    }

    /// Repeated in the reply.
    package let number: UInt64
    package let operation: Operation
    /// The variants as a JSON list. Images of one pipeline have the same text, which a child parses once.
    package var variants = "[]"
    package var scale = 1.0
    package var options: TranscodeRequest.Options = []
    package var wantsDigest = false
    package var wantsRawRGBA = false
    /// The names of the watermarks, whose descriptors follow the outputs' descriptors.
    package var watermarks: [String] = []
    /// The name of the coder that made the picture in the source; nil for an original.
    package var coder: String?
    /// Takes the place of that in the limits of the setup, unless nil.
    package var scaleDownBytes: Int?
}

extension ChildRequest {
    /// - Parameter variants: the variants of `request` as JSON.
    package init(_ operation: Operation, number: UInt64, _ request: TranscodeRequest?, variants: String) {
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
package struct ChildGrant: SocketMessage {
    /// The request's number.
    package let number: UInt64
}

/// A message from a child. Each request has one `reply`, which is its last message; the others come before it.
package struct ChildMessage: SocketMessage {
    package enum Content: Codable, Sendable {
        /// The child waits until the pool grants this much memory, in bytes. At most once, before the image is decoded.
        case wantsMemory(Int)
        /// The image is decoded.
        case decoded(SourceHeader)
        /// The outcome of the variant with this index. What is written stays good when the child is lost later.
        case finished(Int, ChildReply.Outcome)
        case reply(ChildReply)
    }

    /// The request's number.
    package let number: UInt64
    package let content: Content

    package init(number: UInt64, content: Content) { (self.number, self.content) = (number, content) }
}

/// The answer of a child to a request.
package struct ChildReply: Codable, Sendable {
    package enum Outcome: Codable, Sendable {
        case made(TranscodedVariant)
        case failed(TranscodeError)

        package init(_ result: Result<TranscodedVariant, TranscodeError>) {
            switch result {
            case .success(let variant): self = .made(variant)
            case .failure(let error): self = .failed(error)
            }
        }

        package var result: Result<TranscodedVariant, TranscodeError> {
            switch self {
            case .made(let variant): .success(variant)
            case .failed(let error): .failure(error)
            }
        }

        package var error: TranscodeError? { if case .failed(let error) = self { error } else { nil } }
    }

    /// Why the request failed as a whole.
    package var failure: TranscodeError?
    /// When the pool received the messages before the reply; a child sends none.
    package var times: TranscodeTimes?
    /// Of a probe or a plan.
    package var header: SourceHeader?
    /// The outcomes of all variants; empty from a child unless they replace what earlier messages said.
    package var outcomes: [Outcome] = []
    package var digest: ImageDigest?
    /// Of a plan.
    package var plan: PlanSummary?
    /// The formats that this machine can write.
    package var writable: Set<ImageFormat> = []
    package var codecs: CodecReport?
    /// What the kernel denies the child.
    package var sandbox: SandboxLevel?
    package var processorTime: Duration = .zero
    /// Of that, the time of decoding, drawing and encoding.
    package var codecTime: Duration = .zero
    package var residentBytes = 0
    package var peakResidentBytes = 0
    /// Whether the child must be replaced because its memory came near the limit.
    package var mustRecycle = false

    package init() {}
}

/// A message on the socket between a pool and a child.
package protocol SocketMessage: Codable, Sendable {}

extension SocketMessage {
    /// The bytes of the message.
    package func message() throws(TranscodeError) -> [UInt8] {
        do {
            return Array(try JSONEncoder().encode(self))
        } catch {
            throw TranscodeError(.died, "a message to the child cannot be written")
        }
    }

    package init(message: [UInt8]) throws(TranscodeError) {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(message))
        } catch {
            throw TranscodeError(.died, "a message of the child cannot be read")
        }
    }
}
