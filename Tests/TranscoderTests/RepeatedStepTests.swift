import Testing

@testable import ImageModel
@testable import Transcoder

/// Steps whose pixels a later resize reads more than once.
@Suite(.timeLimit(.minutes(5)))
struct RepeatedStepTests {
    /// An RGB PNG, each row of which is the one above moved by a byte.
    private func opaque(_ width: Int, _ height: Int) -> [UInt8] {
        let row = (0..<width * 3).map { UInt8(($0 * $0 / 7) & 255) }
        let rows = (0..<height).flatMap { [0] + row[$0...] + row[..<$0] }
        return SyntheticImage.png(SyntheticImage.big(width) + SyntheticImage.big(height) + [8, 2, 0, 0, 0], rows)
    }

    /// Drawn again for each strip that a resize reads, each of these took more than the limit of 8 s.
    @Test(arguments: [
        #"{"type":"rotate","angle":0.3}"#, #"{"type":"sharpen","sigma":5,"amount":3}"#,
    ])
    func `a step before a strong resize is drawn once`(step: String) async throws {
        let harness = TranscodeHarness {
            $0.limits.softTime = .seconds(8)
            $0.limits.hardTime = .seconds(8)
        }
        let image = opaque(2000, 1500)
        let resize = #"{"type":"resize","width":64,"height":64}"#
        for options in [
            #""format":"jpeg""#, #""format":"jpeg","trim":{}"#, #""format":"jpeg","keepICC":true,"keySuffix":"x""#,
        ] {
            let output = try await harness.make(image, #""transform":[\#(step),\#(resize)],\#(options)"#)
            #expect(try output.made().width == 64)
        }
    }
}
