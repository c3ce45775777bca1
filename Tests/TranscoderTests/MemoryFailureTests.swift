import Testing

@testable import Codecs
@testable import Transcoder

/// What libraries report when there is no memory.
struct MemoryFailureTests {
    private func reply(_ codes: TranscodeError.Code...) -> ChildReply {
        var reply = ChildReply()
        reply.outcomes = codes.map { .failed(TranscodeError($0, "")) }
        return reply
    }

    @Test func `failures of libraries become 205, and those by rule stay`() {
        var reply = reply(.transform, .transform, .encode, .time, .undecodable)
        #expect(reply.hasCodecFailure([]))
        reply.blameMemory([1], limit: 8)
        #expect(reply.outcomes.map { $0.error?.code } == [.transform, .memory, .memory, .time, .memory])
        #expect(reply.outcomes[1].error?.message == "the image needs more than 8 bytes")
        #expect(reply.failure == nil)
    }

    @Test func `a failure to draw counts where a library failed`() {
        #expect(reply(.transform).hasCodecFailure([0]))
        #expect(!reply(.transform).hasCodecFailure([]))
        #expect(!reply(.time, .store).hasCodecFailure([0, 1]))
    }

    @Test func `an image that a library could not decode has no outcomes`() {
        var reply = ChildReply()
        reply.failure = TranscodeError(.undecodable, "")
        #expect(reply.hasCodecFailure([]))
        reply.blameMemory([], limit: 8)
        #expect(reply.failure?.code == .memory)
    }
}
