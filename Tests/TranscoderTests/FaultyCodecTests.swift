import Glibc
import ImageModel
import TestSupport
import Testing

@testable import Transcoder

/// Images on which a codec fails, in real sandboxed children, and a valid one that takes minutes. Each costs its own
/// result and the child that held it.
@Suite(.timeLimit(.minutes(10)))
struct FaultyCodecTests {
    private let small = #""thumbnail":{"width":8,"height":8}"#

    private struct Outcome: Sendable {
        let name: String
        let error: TranscodeError?
    }

    @Test func `a crash, an endless loop and excessive memory fail their own images, and others succeed`()
        async throws
    {
        let codec = try await FaultyCodec()
        let harness = TranscodeHarness {
            $0.count = 2
            $0.environment.append(codec.environment)
            // Ends the endless loop; far more than the other images take.
            $0.limits.hardTime = .seconds(30)
            $0.limits.memoryBytes = 64 << 20
        }
        let good = try Fixtures.image("plain.jpg"), variant = small
        let outcomes = try await withThrowingTaskGroup(of: Outcome.self) { group in
            for fault in FaultyCodec.Fault.allCases {
                group.addTask { Outcome(name: "\(fault)", error: try await harness.refusal(fault.image, variant)) }
                for _ in 0..<4 {
                    group.addTask { Outcome(name: "good", error: try await harness.refusal(good, variant)) }
                }
            }
            return try await group.reduce(into: [Outcome]()) { $0.append($1) }
        }
        func error(_ fault: FaultyCodec.Fault) -> TranscodeError? { outcomes.first { $0.name == "\(fault)" }?.error }
        #expect(error(.crash)?.code == .died)
        #expect(error(.crash)?.signal == SIGSEGV)
        #expect(error(.loop)?.code == .time)
        #expect(error(.memory)?.code == .memory)
        let neighbours = outcomes.filter { $0.name == "good" }
        #expect(neighbours.count == 12, "\(neighbours)")
        #expect(neighbours.allSatisfy { $0.error == nil }, "\(neighbours)")
        // The same image fails again, and others still succeed.
        #expect(try await harness.refusal(FaultyCodec.Fault.crash.image, variant)?.code == .died)
        #expect(try await harness.refusal(good, variant) == nil)
    }

    @Test func `a child that ran out of memory is replaced`() async throws {
        let codec = try await FaultyCodec()
        let harness = TranscodeHarness {
            $0.environment.append(codec.environment)
            $0.limits.memoryBytes = 64 << 20
        }
        #expect(try await harness.refusal(MadeJPEG.bytes(614, 1024), small) == nil, "another width is decoded")
        let child = try #require(harness.pool.children.first)
        #expect(try await harness.refusal(FaultyCodec.Fault.memory.image, small)?.code == .memory)
        #expect(harness.pool.children.isEmpty)
        #expect(kill(child, 0) == -1)
    }

    private static func jpeg(_ width: Int) -> String {
        #""transform":[{"type":"resize","width":\#(width),"height":\#(width)}],"format":"jpeg""#
    }

    @Test(arguments: [(FaultyCodec.endlessOutput, TranscodeError.Code.time), (FaultyCodec.crashingOutput, .died)])
    func `a child that is lost while it encodes a variant leaves those that it finished`(
        _ width: Int, _ code: TranscodeError.Code
    ) async throws {
        let codec = try await FaultyCodec()
        let harness = TranscodeHarness {
            $0.environment.append(codec.environment)
            $0.limits.hardTime = .seconds(3)
            $0.limits.softTime = .seconds(2)
        }
        // The smaller variant is encoded first.
        let output = try await harness.make(try Fixtures.image("plain.jpg"), Self.jpeg(width), Self.jpeg(40))
        let error = #expect(throws: TranscodeError.self) { try output.made(0) }
        #expect(error?.code == code)
        #expect(try output.made(1).width == 40)
        #expect(try output.sample(1).width == 40)
        #expect(output.report.source.format == .jpeg)
        #expect(harness.pool.counts.lost == 1)
        #expect(harness.pool.children.isEmpty)
    }

    /// 42 megapixels, within every limit, in 420 kB that libvips decodes without a warning for minutes.
    @Test func `a progressive JPEG with every possible scan is ended at the hard limit`() async throws {
        let slow = MadeJPEG.bytes(7000, 6000, components: 3, coefficients: 63)
        #expect(slow.count < 500_000)
        let harness = TranscodeHarness {
            $0.limits.hardTime = .seconds(5)
            $0.limits.allowsPlanes = false
        }
        #expect(try await harness.refusal(slow, small)?.code == .time)
        #expect(harness.pool.children.isEmpty)
        // The decoder to planes counts scans and refuses more than 100.
        #expect(try await TranscodeHarness().refusal(slow, small)?.code == .undecodable)
    }

    @Test func `a progressive JPEG with few scans is decoded`() async throws {
        let output = try await TranscodeHarness().make(MadeJPEG.bytes(300, 200, components: 3, coefficients: 2), small)
        #expect(
            try output.made().width == 8 && output.sample().pixel(2, 2) == [0, 0, 0, 255] || output.made().height == 5)
        #expect(output.report.source.isInterlaced)
    }
}
