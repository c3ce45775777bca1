import ImageModel
import Testing

@testable import Transcoder

/// The reply that the pool composes from the messages of a child.
struct ChildProgressTests {
    private let header = SourceHeader(format: .jpeg, width: 8, height: 6)

    /// A child that has said its header and finished two variants.
    private var progress: ChildProgress {
        var progress = ChildProgress(variants: 2)
        progress.header = header
        progress.finish(1, .failed(TranscodeError(.encode, "")))
        progress.finish(0, .made(TranscodedVariant(format: .webp, width: 4, height: 3, bytes: 5, copied: false)))
        return progress
    }

    @Test func `a reply without outcomes has the outcomes of the messages before it`() {
        let reply = progress.completed(ChildReply())
        #expect(reply.header == header)
        #expect(reply.outcomes.map { $0.error?.code } == [nil, .encode])
    }

    @Test func `outcomes of a reply replace the outcomes of the messages before it`() {
        var last = ChildReply()
        last.outcomes = [.failed(TranscodeError(.memory, "")), .failed(TranscodeError(.memory, ""))]
        #expect(progress.completed(last).outcomes.map { $0.error?.code } == [.memory, .memory])
    }

    @Test func `an outcome that no message had is missing`() {
        var progress = ChildProgress(variants: 3)
        progress.finish(2, .failed(TranscodeError(.encode, "")))
        progress.finish(3, .failed(TranscodeError(.encode, "")))
        #expect(progress.completed(ChildReply()).outcomes.count == 1)
    }

    @Test(arguments: [2_000_000_000, Int(UInt32.max), 1 << 60])
    func `an image of any declared size is refused by its edge, with a setting in bounds`(edge: Int) {
        let error = #expect(throws: TranscodeError.self) {
            try TranscodeLimits().check(SourceHeader(format: .webp, width: edge, height: edge, frames: 9))
        }
        #expect(error?.code == .edge)
        #expect(error?.needs.allSatisfy(\.isOfTranscoder) == true)
    }

    @Test func `numbers that no image has are out of bounds`() {
        func isInBounds(width: Int = 4, bytes: Int = 5) -> Bool {
            let variant = TranscodedVariant(format: .webp, width: width, height: 3, bytes: bytes, copied: false)
            return ChildMessage.Content.finished(0, .made(variant)).isInBounds
        }
        #expect(isInBounds())
        #expect(!isInBounds(width: 0))
        #expect(!isInBounds(width: 5_000_000_000))
        #expect(!isInBounds(bytes: -1))
        #expect(!isInBounds(bytes: .max))
        var reply = ChildReply()
        #expect(ChildMessage.Content.reply(reply).isInBounds)
        reply.processorTime = .seconds(-1)
        #expect(!ChildMessage.Content.reply(reply).isInBounds)
        var odd = header
        odd.orientation = 9
        #expect(ChildMessage.Content.decoded(header).isInBounds)
        #expect(!ChildMessage.Content.decoded(odd).isInBounds)
    }
}
