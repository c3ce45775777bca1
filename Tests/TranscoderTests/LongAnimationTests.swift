import ImageModel
import TestSupport
import Testing

@testable import Transcoder

/// Work near the limits, in real children with the default limits on time.
@Suite(.timeLimit(.minutes(10)))
struct LongAnimationTests {
    private let harness = TranscodeHarness { configuration in
        let usual = TranscodeLimits()
        configuration.limits.softTime = usual.softTime
        configuration.limits.hardTime = usual.hardTime
    }

    /// Frames of 128 colours, each with a palette of its own. No code needs more than 8 bits, because the table of codes
    /// is cleared in time.
    private static func gif(_ width: Int, _ height: Int, frames: Int) -> [UInt8] {
        func number(_ value: Int) -> [UInt8] { [UInt8(value & 255), UInt8(value >> 8)] }
        var codes: [UInt8] = []
        for start in stride(from: 0, to: width * height, by: 120) {
            codes.append(128)
            for place in start..<min(start + 120, width * height) {
                let (y, x) = place.quotientAndRemainder(dividingBy: width)
                let shade = x / 5 + y / 3 + x * y / 97
                codes.append(UInt8(shade & 127))
            }
        }
        codes.append(129)
        var blocks: [UInt8] = []
        for start in stride(from: 0, to: codes.count, by: 255) {
            let block = codes[start..<min(start + 255, codes.count)]
            blocks.append(UInt8(block.count))
            blocks += block
        }
        let plays: [UInt8] = [0x21, 0xFF, 0x0B] + Array("NETSCAPE2.0".utf8) + [3, 1, 0, 0, 0]
        var file: [UInt8] = Array("GIF89a".utf8) + number(width) + number(height)
        file += [0x70, 0, 0] + plays
        for frame in 0..<frames {
            let control: [UInt8] = [0x21, 0xF9, 4, 0, 8, 0, 0, 0], place: [UInt8] = [0x2C, 0, 0, 0, 0]
            file += control
            file += place + number(width) + number(height)
            file.append(0x86)
            for color in 0..<128 {
                let (red, green, blue) = (color * 2, color * 3 + frame * 5, color + frame * 2)
                for band in [red, green, blue] { file.append(UInt8(band & 255)) }
            }
            file.append(7)
            file += blocks
            file.append(0)
        }
        return file + [0x3B]
    }

    @Test func `a GIF of 480 × 270 with 100 frames has all of them at 160 pixels`() async throws {
        let output = try await harness.make(
            Self.gif(480, 270, frames: 100), #""thumbnail":{"width":160,"height":160}"#)
        let made = try output.made()
        #expect(made.format == .gif)
        #expect(made.frames == 100)
        #expect(made.width == 160)
        #expect(made.height == 90)
        #expect(output.report.peakResidentBytes < 200 << 20, "\(output.report.peakResidentBytes >> 20) MiB")
    }

    @Test func `two HEIC variants of 12 megapixels are made, or refused before they start`() async throws {
        let photo = MadeJPEG.bytes(4000, 3000)
        let output = try await harness.make(
            photo, #""thumbnail":{"width":1600,"height":1200},"format":"heic""#,
            #""thumbnail":{"width":2300,"height":1725},"format":"heic""#)
        for result in output.report.variants {
            switch result {
            case .success(let made): #expect(made.format == .heic)
            case .failure(let error):
                #expect(error.code == .time)
                #expect(!error.message.contains("took more than"))
            }
        }
        #expect(harness.pool.counts.lost == 0)
    }
}
