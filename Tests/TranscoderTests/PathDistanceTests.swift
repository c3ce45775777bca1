import Foundation
import ImageModel
import Testing

@testable import Codecs
@testable import Transcoder

/// Planes and libvips compared with the exact result: every pixel decoded, Lanczos 3 in floating point, not encoded.
///
/// The bounds come from 400 such images, see Benchmarks/Results/planes.md; LARDER_PATH_IMAGES=400 prints each of them.
@Suite(.timeLimit(.minutes(20)))
struct PathDistanceTests {
    private let planes = TranscodeHarness { $0.count = 2 }
    private let libvips = TranscodeHarness {
        $0.count = 2
        $0.limits.allowsPlanes = false
    }

    /// A random image and a random variant.
    private struct Case {
        let file: [UInt8]
        let orientation: Int
        let variant: String
        let text: String

        /// - Parameters:
        ///   - isConverted: a PNG or lossless WebP, whose planes are colours; else a JPEG or lossy WebP.
        ///   - output: the format written; nil for JPEG or WebP.
        init(_ seed: UInt64, isConverted: Bool, output: String?) throws {
            var random = SeededRandom(seed)
            let width = Int.random(in: 8...130, using: &random), height = Int.random(in: 8...100, using: &random)
            let photo = SyntheticPhoto(width, height, &random)
            let quality = Int.random(in: 50...97, using: &random)
            if isConverted {
                let kind = SyntheticPNG.allCases.randomElement(using: &random) ?? .color
                let isPNG = Int.random(in: 0..<4, using: &random) > 0
                file = isPNG ? kind.file(photo) : try photo.losslessWebP()
                orientation = 1
                text = isPNG ? "\(kind) png" : "lossless webp"
            } else if Int.random(in: 0..<6, using: &random) == 0 {
                let isExtended = Bool.random(using: &random)
                file = try photo.webp(quality: quality, isExtended: isExtended)
                orientation = 1
                text = "webp \(quality) \(isExtended)"
            } else {
                let sampling = ["1x1", "2x1", "2x2", "2x2", "2x2", "1x2", "4x1"].randomElement(using: &random) ?? "2x2"
                var options = ["-quality", "\(quality)", "-sample", sampling]
                switch Int.random(in: 0..<8, using: &random) {
                case 0: options.append("-progressive")
                case 1: options.append("-arithmetic")
                case 2: options.append("-grayscale")
                default: break
                }
                orientation = Int.random(in: 1...8, using: &random)
                file = try photo.jpeg(options, orientation: orientation)
                text = options.joined(separator: " ") + " orientation \(orientation)"
            }
            let side = (1...max(width, height)).randomElement(using: &random) ?? 1
            let fromPlanes = Bool.random(using: &random) ? "jpeg" : "webp", format = output ?? fromPlanes
            let wanted = Int.random(in: 60...97, using: &random)
            let shape = min(width, height)
            let box = Int.random(in: 1...shape, using: &random), other = Int.random(in: 1...shape, using: &random)
            let drawing =
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    #""transform":[{"type":"resize","width":\#(box),"height":\#(other),"scaleMode":"aspectFill"}]"#
                case 1: #""transform":[{"type":"resize","width":\#(box),"height":\#(other)}]"#
                case 2: #""keySuffix":"x","maxPixelSize":{"width":\#(side),"height":\#(side)}"#
                default: #""thumbnail":{"width":\#(side),"height":\#(side)},"keySuffix":"x""#
                }
            variant = #"\#(drawing),"format":"\#(format)","quality":\#(wanted)"#
        }
    }

    private struct Distance {
        let psnr, ssim: Double
    }

    private struct Distances {
        let planes, libvips: Distance
        let isLarge: Bool
        let text: String
    }

    private static let count =
        ProcessInfo.processInfo.environment["LARDER_PATH_IMAGES"].flatMap(Int.init) ?? 200

    /// The distances of planes and libvips from the exact result; nil when the plan uses libvips.
    private func distances(_ seed: UInt64, isConverted: Bool, output format: String?) async throws -> Distances? {
        let wanted = try Case(seed, isConverted: isConverted, output: format)
        let output = try await planes.make(wanted.file, wanted.variant)
        let variant = try Variant(json: #"{"name":"v",\#(wanted.variant)}"#.utf8)
        let plan = DecodePlan(
            output.report.source, variants: [variant], scale: 1, limits: TranscodeLimits(),
            writable: [.jpeg, .webp, .png])
        guard plan.path == .planes else { return nil }
        let reference = try await libvips.make(wanted.file, wanted.variant)
        var exact = ExactImage(try #require(PixelSample(wanted.file))).upright(wanted.orientation)
        for step in try plan.outputs[0].get().drawing.steps {
            switch step {
            case .scale(let size): exact = exact.resampled(size.width, size.height)
            case .crop(let part): exact = exact.cropped(x: part.x, y: part.y, part.width, part.height)
            default: Issue.record("\(step) is no step for planes")
            }
        }
        let one = ExactImage(try output.sample()), other = ExactImage(try reference.sample())
        #expect(one.width == other.width && one.height == other.height && one.width == exact.width, "\(seed)")
        return Distances(
            planes: Distance(psnr: exact.psnr(one), ssim: exact.ssim(one)),
            libvips: Distance(psnr: exact.psnr(other), ssim: exact.ssim(other)),
            isLarge: min(exact.width, exact.height) >= 8,
            text: "\(wanted.text), \(wanted.variant), to \(exact.width)x\(exact.height)")
    }

    @Test(arguments: 0..<8)
    func `a file's planes give results as close to the exact one as libvips`(part: Int) async throws {
        try await compare(part, isConverted: false)
    }

    @Test(arguments: 0..<4)
    func `converted planes give results as close to the exact one as libvips`(part: Int) async throws {
        try await compare(part, isConverted: true)
    }

    @Test(arguments: 0..<4)
    func `pixels made of planes are as close to the exact result as libvips' pixels`(part: Int) async throws {
        try await compare(part, isConverted: part % 2 == 0, output: "png")
    }

    private func compare(_ part: Int, isConverted: Bool, output: String? = nil) async throws {
        var psnr: [Double] = [], ssim: [Double] = [], made = 0
        for seed in stride(from: part, to: Self.count, by: 8) {
            guard let found = try await distances(UInt64(seed), isConverted: isConverted, output: output) else {
                continue
            }
            made += 1
            if Self.count > 200 {
                print(
                    "path-distance", seed, found.planes.psnr, found.libvips.psnr, found.planes.ssim,
                    found.libvips.ssim, found.text)
            }
            // A codec's block is eight pixels; in a smaller image its rounding dominates.
            guard found.isLarge else {
                #expect(found.planes.psnr > min(found.libvips.psnr - 4, 30), "\(seed): \(found)")
                continue
            }
            // Above 50 dB both are exact within the rounding of samples to whole numbers.
            let reference = min(found.libvips.psnr, 50)
            psnr.append(min(found.planes.psnr, 50) - reference)
            ssim.append(found.planes.ssim - found.libvips.ssim)
            #expect(found.planes.psnr > reference - 1.5, "\(seed): \(found)")
            #expect(found.planes.ssim > found.libvips.ssim - 0.01, "\(seed): \(found)")
        }
        #expect(made > Self.count / 16, "most plans are for planes")
        let count = Double(max(1, psnr.count))
        #expect(psnr.reduce(0, +) / count > -0.05 && ssim.reduce(0, +) / count > -0.001)
    }
}
