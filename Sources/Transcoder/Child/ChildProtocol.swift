internal import ImageModel

/// The readers of both ends of the socket, for tests: nothing that comes in may end a process.
package enum ChildProtocol {
    /// Whether bytes are a request.
    package static func isRequest(_ bytes: [UInt8]) -> Bool { (try? ChildRequest(message: bytes)) != nil }

    /// Whether bytes are a reply.
    package static func isReply(_ bytes: [UInt8]) -> Bool { (try? ChildReply(message: bytes)) != nil }

    /// A request and a reply as they are sent, to be changed.
    package static func samples() throws(TranscodeError) -> [[UInt8]] {
        let header = SourceHeader(format: .jpeg, width: 8, height: 8)
        var reply = ChildReply(number: 1, header: header)
        reply.outcomes = [
            ChildReply.Outcome(.success(TranscodedVariant(format: .jpeg, width: 1, height: 1, bytes: 1, copied: false)))
        ]
        return [
            try ChildRequest(number: 1, errand: .transcode, limits: TranscodeLimits()).message(), try reply.message(),
            try ChildGrant(number: 1).message(),
        ]
    }
}
