import Glibc
import TestSupport
import Testing
@testable import Transcoder

/// Pictures that a codec breaks over, in real children behind their real walls; and one of the web's own that takes
/// minutes. Each costs its own picture, and the child that held it.
@Suite(.timeLimit(.minutes(10)))
struct FaultyCodecTests {
    private let small = #""thumbnail":{"width":8,"height":8}"#

    /// What became of a picture.
    private struct Fate: Sendable {
        let name: String
        let error: TranscodeError?
    }

    @Test func `a crash, a loop and a hunger for memory cost their own pictures, and the neighbours finish`()
        async throws
    {
        let codec = try await FaultyCodec()
        let kitchen = TranscodeHarness {
            $0.count = 2
            $0.environment.append(codec.environment)
            // The loop ends there; far more than any of the others takes.
            $0.limits.hardTime = .seconds(30)
            $0.limits.memoryBytes = 64 << 20
        }
        let good = try Fixtures.picture("plain.jpg"), variant = small
        let fates = try await withThrowingTaskGroup(of: Fate.self) { group in
            for fault in FaultyCodec.Fault.allCases {
                group.addTask { Fate(name: "\(fault)", error: try await kitchen.refusal(fault.picture, variant)) }
                for _ in 0..<4 {
                    group.addTask { Fate(name: "good", error: try await kitchen.refusal(good, variant)) }
                }
            }
            return try await group.reduce(into: [Fate]()) { $0.append($1) }
        }
        func error(_ fault: FaultyCodec.Fault) -> TranscodeError? { fates.first { $0.name == "\(fault)" }?.error }
        #expect(error(.crash)?.code == .died && error(.crash)?.signal == SIGSEGV)
        #expect(error(.loop)?.code == .time)
        #expect(error(.hunger)?.code == .memory)
        let neighbours = fates.filter { $0.name == "good" }
        #expect(neighbours.count == 12 && neighbours.allSatisfy { $0.error == nil }, "\(neighbours)")
        // The same picture again, the same death; and still every other one is made.
        #expect(try await kitchen.refusal(FaultyCodec.Fault.crash.picture, variant)?.code == .died)
        #expect(try await kitchen.refusal(good, variant) == nil)
    }

    @Test func `a child that ran out of memory is replaced, for what it still holds`() async throws {
        let codec = try await FaultyCodec()
        let kitchen = TranscodeHarness {
            $0.environment.append(codec.environment)
            $0.limits.memoryBytes = 64 << 20
        }
        #expect(try await kitchen.refusal(MadeJPEG.bytes(614, 1024), small) == nil, "another width is a picture")
        let child = try #require(kitchen.pool.children.first)
        #expect(try await kitchen.refusal(FaultyCodec.Fault.hunger.picture, small)?.code == .memory)
        #expect(kitchen.pool.children.isEmpty && kill(child, 0) == -1)
    }

    /// 42 megapixels, within every limit, in 420 kB that libvips decodes without a warning, for minutes.
    @Test func `a progressive JPEG of all the scans there may be is ended at the hard limit`() async throws {
        let slow = MadeJPEG.bytes(7000, 6000, components: 3, coefficients: 63)
        #expect(slow.count < 500_000)
        let kitchen = TranscodeHarness {
            $0.limits.hardTime = .seconds(5)
            $0.limits.allowsPlanes = false
        }
        #expect(try await kitchen.refusal(slow, small)?.code == .time)
        #expect(kitchen.pool.children.isEmpty)
        // The path by planes counts scans, and does not begin the hundred-and-first.
        #expect(try await TranscodeHarness().refusal(slow, small)?.code == .undecodable)
    }

    @Test func `of the same kind with few scans it is a picture`() async throws {
        let dish = try await TranscodeHarness().make(MadeJPEG.bytes(300, 200, components: 3, coefficients: 2), small)
        #expect(try dish.made().width == 8 && dish.sample().pixel(2, 2) == [0, 0, 0, 255] || dish.made().height == 5)
        #expect(dish.report.source.isInterlaced)
    }
}
