private import FoundationEssentials
package import ImageModel

/// The first message to a child: the settings shared by all its requests.
package struct ChildSetup: SocketMessage {
    /// The messages' version. Both programs are from one build, unless a configuration names another program.
    package static let version = 13

    /// The part that every version of the message has.
    package struct Version: SocketMessage {
        package let version: Int
    }

    package var version = ChildSetup.version
    package let limits: TranscodeLimits
    /// Whether images are refused if the kernel lacks a part of the sandbox.
    package let sandbox: SandboxPolicy
}

/// A request from the pool to a child, with attached descriptors.
package struct ChildRequest: SocketMessage {
    /// Far longer than 32 variants of 16 transformers each.
    package static let maxLength = 192 << 10
    /// For an image that needs more memory than this, a child requests a grant from the pool.
    package static let unreservedBytes = 64 << 20

    package enum Operation: String, Codable {
        /// Makes the variants. Descriptors: source, one output per variant, watermarks.
        case transcode
        /// Reads the header. Descriptor: the source.
        case probe
        /// Plans the variants without decoding pixels. Descriptor: the source.
        case plan
        /// Tests the codecs. No descriptors.
        case selfTest
        /// Enters the sandbox and tries the encoders. No descriptors.
        case abilities
    }

    /// Repeated in the reply.
    package let number: UInt64
    package let operation: Operation
    /// The variants as a JSON list. Images of one pipeline share the text, which a child parses once.
    package var variants = "[]"
    package var scale = 1.0
    package var options: TranscodeRequest.Options = []
    package var wantsDigest = false
    package var wantsRawRGBA = false
    package var isPartial = false
    /// Names of the watermarks, whose descriptors follow the outputs'.
    package var watermarks: [String] = []
    /// The coder that made the source's picture; nil for an original.
    package var coder: String?
    /// Replaces the setup's limit unless nil.
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
        isPartial = request.isPartial
        watermarks = request.watermarks
        scaleDownBytes = request.scaleDownBytes
    }
}

/// The pool's memory grant to a child.
package struct ChildGrant: SocketMessage {
    package let number: UInt64
}

/// A message from a child. `reply` is the last message of each request.
package struct ChildMessage: SocketMessage {
    package enum Content: Codable, Sendable {
        /// The child waits until the pool grants this many bytes. At most once, before the image is decoded.
        case wantsMemory(Int)
        case decoded(SourceHeader)
        /// The result of the variant with this index. It stays valid if the child is lost later.
        case finished(Int, ChildReply.Outcome)
        case reply(ChildReply)
    }

    package let number: UInt64
    package let content: Content

    package init(number: UInt64, content: Content) { (self.number, self.content) = (number, content) }
}

/// A child's answer to a request.
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

    /// Why the whole request failed.
    package var failure: TranscodeError?
    /// When the pool received the messages before the reply; not sent by a child.
    package var times: TranscodeTimes?
    /// For a probe or plan.
    package var header: SourceHeader?
    /// The results of all variants. Empty from a child unless they replace earlier messages.
    package var outcomes: [Outcome] = []
    package var digest: ImageDigest?
    /// For a plan.
    package var plan: PlanSummary?
    /// Formats that this machine can write.
    package var writable: Set<ImageFormat> = []
    package var codecs: CodecReport?
    package var sandbox: SandboxLevel?
    package var processorTime: Duration = .zero
    /// The part spent on decoding, drawing and encoding.
    package var codecTime: Duration = .zero
    package var residentBytes = 0
    package var peakResidentBytes = 0
    /// Whether the child must be replaced because its memory came near the limit.
    package var mustRecycle = false

    package init() {}
}

/// A message between a pool and a child.
package protocol SocketMessage: Codable, Sendable {}

extension SocketMessage {
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

/// Exit codes of a child.
package enum ChildExit {
    /// The pool closed the socket.
    package static let done: Int32 = 0
    /// The sandbox could not be set up, or a message could not be read.
    package static let unfit: Int32 = 69
    /// An allocation failed in a library that cannot report it.
    package static let memory: Int32 = 70
    /// The pool ended while the child had an image.
    package static let orphaned: Int32 = 71
    /// The pool speaks another version of the messages.
    package static let otherVersion: Int32 = 72
}

/// Memory for one message of the maximum length, reused for all messages of a socket.
package struct MessageRoom: ~Copyable {
    package let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: ChildRequest.maxLength, alignment: 16)

    package init() {}

    deinit { bytes.deallocate() }
}
