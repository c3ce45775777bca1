import Foundation
import TestSupport
import Testing

@testable import Transcoder

/// Plain resizes compared with libvips' command line, on 200 images.
@Suite(.timeLimit(.minutes(10)))
struct LibvipsTests {
    /// The sizes; one process of `vipsthumbnail` makes all images of one size.
    private static let sizes = [(160, 120), (97, 203), (320, 60), (33, 33), (250, 187), (64, 301), (12, 9), (401, 299)]

    /// Writes 200 images of many kinds, the same in every run: `<number of the size>-<number>.<suffix>`.
    private static let maker = """
        import random, sys
        from PIL import Image
        kinds = ['rgb', 'jpeg', 'grey', 'progressive', 'palette', 'jpeg-grey', 'orientation', 'gif', 'rgb', 'jpeg'] * 2
        kinds[8] = 'rgba'
        for n in range(200):
            r = random.Random(n)
            kind = kinds[n % 20]
            # Where an image with an orientation is enlarged, vipsthumbnail differs from vips autorot and vips resize
            # one after another.
            size = (r.randint(410, 540), r.randint(410, 540)) if kind == 'orientation' else (r.randint(20, 520), r.randint(20, 390))
            mode = {'rgba': 'RGBA', 'grey': 'L', 'jpeg-grey': 'L'}.get(kind, 'RGB')
            # Soft shapes with fine detail over them.
            coarse = Image.frombytes(mode, (7, 6), r.randbytes(42 * len(mode))).resize(size, Image.BICUBIC)
            fine = Image.frombytes(mode, (64, 64), r.randbytes(4096 * len(mode))).resize(size)
            image = Image.blend(coarse, fine, 0.3)
            name = f'{sys.argv[1]}/{n // 20 % 8}-{n:03}-{kind}-{size[0]}-{size[1]}.'
            if kind in ('jpeg', 'progressive', 'jpeg-grey', 'orientation'):
                exif = Image.Exif()
                if kind == 'orientation': exif[0x0112] = r.randint(1, 8)
                image.save(name + 'jpg', quality=r.randint(60, 98), progressive=kind == 'progressive', exif=exif)
            elif kind == 'gif': image.quantize(64, 2).save(name + 'gif')
            elif kind == 'palette': image.quantize(200, 2).save(name + 'png', compress_level=1)
            else: image.save(name + 'png', compress_level=1)
        """

    /// `vipsthumbnail` rounds premultiplied colours before it resizes; this does the same without that rounding.
    private static let exactAlpha = """
        set -e
        vips premultiply "$1" "$1.a.v"
        vips resize "$1.a.v" "$1.b.v" "$3" --vscale "$4"
        vips unpremultiply "$1.b.v" "$1.c.v"
        vips cast "$1.c.v" "$2[strip]" uchar
        """

    private func run(_ program: String, _ arguments: [String], input: String = "") async throws {
        let outcome = try await RunningCommand(
            program, arguments, environment: ["PATH": "/usr/bin:/bin", "VIPS_CONCURRENCY": "1"],
            input: Array(input.utf8)
        ).outcome()
        try #require(outcome.code == 0, "\(program): \(String(decoding: outcome.errors, as: UTF8.self))")
    }

    @Test func `200 resized images differ from the images of libvips' program by at most one level`() async throws {
        let directory = try TemporaryDirectory()
        try await run("/usr/bin/python3", ["-", directory.path], input: Self.maker)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        try #require(names.count == 200)
        for (number, size) in Self.sizes.enumerated() {
            let all = names.filter { $0.hasPrefix("\(number)-") }
            for name in all where name.contains("-rgba-") {
                let parts = name.split { "-.".contains($0) }.compactMap { Double($0) }
                let scales = ["\(Double(size.0) / parts[2])", "\(Double(size.1) / parts[3])"]
                let output = directory.file(name.replacing(".png", with: ".out.png"))
                try await run("sh", ["-c", Self.exactAlpha, "-", directory.file(name), output] + scales)
            }
            let group = all.filter { !$0.contains("-rgba-") }.map(directory.file)
            // The "!" stretches to exactly that size.
            try await run(
                "vipsthumbnail",
                ["--size", "\(size.0)x\(size.1)!", "-o", "\(directory.path)/%s.out.png[strip]"] + group)
        }
        let harness = TranscodeHarness {
            $0.count = 2
            $0.limits.allowsPlanes = false
        }
        let worst = try await withThrowingTaskGroup(of: (String, Int).self) { group in
            for name in names { group.addTask { (name, try await Self.difference(name, in: directory, harness)) } }
            return try await group.reduce(into: [(String, Int)]()) { $0.append($1) }
        }
        #expect(worst.count == 200)
        for (name, levels) in worst { #expect(levels <= 1, "\(name): \(levels)") }
    }

    /// The largest difference of a channel.
    private static func difference(_ name: String, in directory: TemporaryDirectory, _ harness: TranscodeHarness)
        async throws
        -> Int
    {
        let size = sizes[Int(name.prefix(1)) ?? 0]
        let variant = #""transform":[{"type":"resize","width":\#(size.0),"height":\#(size.1)}],"format":"png""#
        let ours = try await harness.make(try Fixtures.bytes(directory.file(name)), variant).sample()
        let stem = name.prefix { $0 != "." }
        let theirs = try #require(PixelSample(try Fixtures.bytes(directory.file("\(stem).out.png"))))
        guard ours.width == theirs.width && ours.height == theirs.height else { return 255 }
        return ours.maxDifference(from: theirs)
    }
}
