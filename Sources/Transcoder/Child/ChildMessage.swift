private import Foundation
internal import ImageModel

/// What the pool asks of a child: one message, with the descriptors attached.
struct ChildRequest: Codable, Sendable {
    /// The version of these messages; both sides are one program, so a difference is a mistake in its set-up.
    static let version = 3
    /// The longest message, far above 32 variants of 16 transformers each.
    static let longest = 192 << 10

    /// A picture that needs no more is begun without asking.
    static let unaskedBytes = 64 << 20

    enum Operation: String, Codable {
        /// The variants of a picture; descriptors: the source, then one output per variant.
        case transcode
        /// A header; descriptors: the source.
        case probe
        /// A header, and what can be written of what the variants want; descriptors: the source.
        case plan
        /// The codecs; no descriptors.
        case selfTest
    }

    var version = ChildRequest.version
    /// Comes back in the reply.
    let number: UInt64
    let errand: Operation
    var variants: [JSONValue] = []
    var scale = 1.0
    var transformsAnimated = false
    var wantsDigest = false
    var givesPixels = false
    let limits: TranscodeLimits
}

/// What the pool answers to a child that asked for memory.
struct ChildGrant: Codable, Sendable {
    /// The request's.
    let number: UInt64
}

/// What a child answers.
struct ChildReply: Codable, Sendable {
    struct Failure: Codable, Sendable {
        let code: TranscodeError.Code
        let message: String

        init(_ error: TranscodeError) {
            code = error.code
            message = error.message
        }

        var error: TranscodeError { TranscodeError(code, message) }
    }

    /// One variant: exactly one of the two.
    struct Outcome: Codable, Sendable {
        var variant: TranscodedVariant?
        var failure: Failure?

        init(_ result: Result<TranscodedVariant, TranscodeError>) {
            switch result {
            case .success(let made): variant = made
            case .failure(let error): failure = Failure(error)
            }
        }

        var result: Result<TranscodedVariant, TranscodeError> {
            if let variant { return .success(variant) }
            return .failure(failure?.error ?? TranscodeError(.died, "the child's answer makes no sense"))
        }
    }

    let number: UInt64
    /// Not an answer yet: the child waits until so much memory is granted.
    var askedBytes: Int?
    /// Why there is nothing else.
    var failure: Failure?
    var header: SourceHeader?
    var outcomes: [Outcome] = []
    var digest: ImageDigest?
    /// The formats this machine can write, for a plan.
    var writable: Set<ImageFormat> = []
    var codecs: CodecReport?
    var processorTime: Duration = .zero
    var residentBytes = 0
    var peakResidentBytes = 0
    /// The child has been near its memory's end and should not go on.
    var spent = false
}

extension Encodable {
    /// The message as it crosses the socket.
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
