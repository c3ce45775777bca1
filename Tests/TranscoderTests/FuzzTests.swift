import Foundation
import Testing

@testable import Transcoder

/// Corrupt files of every format in real children. `make damaged` runs LARDER_FUZZ_STEPS files from the seed
/// LARDER_FUZZ_SEED.
@Suite(.timeLimit(.minutes(60)))
struct FuzzTests {
    private static func setting(_ name: String, default standard: UInt64) -> UInt64 {
        ProcessInfo.processInfo.environment[name].flatMap(UInt64.init) ?? standard
    }

    private static let images = [
        "plain.jpg", "progressive.jpg", "cmyk.jpg", "gps.jpg", "orientation-6.jpg", "rgb.png", "rgb16.png", "alpha.png",
        "animated.png", "wide.png", "still.gif", "animated.gif", "still.webp", "alpha.webp", "animated.webp",
        "gps.webp",
        "still.heic", "still.avif", "premultiplied.avif", "animated.avif", "animated-alpha.avif", "p3.heic",
    ]

    /// The variants made of each file and of a plain JPEG. Half of it uses planes where the image has some.
    private static let variants = [
        #""keySuffix":"x","format":"webp""#,
        #""thumbnail":{"width":20,"height":20},"format":"png""#,
        #""transform":[{"type":"blur","radius":3}],"format":"webp","animation":"frames""#,
        #""thumbnail":{"width":20,"height":20}"#,
        #""trim":{},"format":"png""#,
        #""thumbnail":{"width":24,"height":24},"format":"auto","formats":["webp","jpeg"]"#,
        #""thumbnail":{"width":24,"height":24},"format":"png","encode":{"palette":true,"colors":16}"#,
        #""thumbnail":{"width":24,"height":24},"format":"webp","encode":{"lossless":true}"#,
        #""thumbnail":{"width":24,"height":24},"format":"jpeg","encode":{"progressive":true}"#,
        #""transform":[{"type":"resize","width":20,"height":20},{"type":"roundCorner","radius":9}],"format":"png""#,
    ]

    @Test func `every corrupt file has a typed outcome, and no child dies`() async throws {
        let steps = Self.setting("LARDER_FUZZ_STEPS", default: 150), seed = Self.setting("LARDER_FUZZ_SEED", default: 1)
        let harness = TranscodeHarness {
            $0.count = 2
            $0.limits.memoryBytes = 256 << 20
        }
        var random = SeededRandom(1)
        let photo = SyntheticPhoto(61, 43, &random)
        let files =
            try Self.images.map(Fixtures.image) + SyntheticPNG.allCases.map { $0.file(photo) } + [photo.losslessWebP()]
            + Self.withProfiles()
        try await withThrowingTaskGroup(of: (UInt64, TranscodeError?).self) { group in
            var next: UInt64 = 0
            var outcomes: [Int: Int] = [:]
            func add() {
                let number = seed &+ next
                next += 1
                group.addTask { (number, try await Self.outcome(number, files, harness)) }
            }
            while next < min(4, steps) { add() }
            for try await (number, error) in group {
                outcomes[error?.code.rawValue ?? 0, default: 0] += 1
                let allowed: [TranscodeError.Code] = [
                    .undecodable, .pixels, .edge, .frames, .memory, .transform, .encode,
                ]
                if let error {
                    #expect(allowed.contains(error.code), "LARDER_FUZZ_SEED=\(number) LARDER_FUZZ_STEPS=1: \(error)")
                }
                if next < steps { add() }
            }
            if steps > 1000 { print("corrupt files by the code of their outcome, 0 for success: \(outcomes)") }
            #expect(outcomes.values.reduce(0, +) == Int(steps))
        }
    }

    /// A JPEG and a CMYK JPEG with a profile, and PNGs with a profile, code points, and a gamma.
    private static func withProfiles() throws -> [[UInt8]] {
        let profile = try Fixtures.image("wide.icc"), png = try Fixtures.image("rgb16.png")
        let segment = Array("ICC_PROFILE\0".utf8) + [1, 1] + profile
        let marked = [0xFF, 0xE2, UInt8((segment.count + 2) >> 8), UInt8((segment.count + 2) & 255)] + segment
        let chunks = [
            SyntheticImage.chunk("iCCP", Array("p".utf8) + [0, 0] + SyntheticImage.zlib(profile)),
            SyntheticImage.chunk("cICP", [12, 16, 0, 1]), SyntheticImage.chunk("gAMA", SyntheticImage.big(100_000)),
        ]
        // A PNG's signature and header have 33 bytes.
        return try ["plain.jpg", "cmyk.jpg"].map {
            let file = try Fixtures.image($0)
            return file.prefix(2) + marked + file.dropFirst(2)
        } + chunks.map { png.prefix(33) + $0 + png.dropFirst(33) }
    }

    private static func outcome(_ number: UInt64, _ files: [[UInt8]], _ harness: TranscodeHarness) async throws
        -> TranscodeError?
    {
        var random = SeededRandom(number)
        let file = files.randomElement(using: &random) ?? [], other = files.randomElement(using: &random) ?? []
        let damaged = Mutation.random(of: file, splicing: other, &random)
        let bytes = number % 3 == 0 ? Mutation.repairingChecksums(of: damaged) : damaged
        do {
            let plain = #""thumbnail":{"width":30,"height":30},"format":"jpeg""#
            let other = variants[Int(number % UInt64(variants.count))]
            let output = try await harness.make(bytes, plain, other, options: number % 2 == 0 ? .firstFrameOnly : [])
            for result in output.report.variants {
                if case .failure(let error) = result { return error }
            }
            return nil
        } catch let error as TranscodeError {
            return error
        }
    }
}
