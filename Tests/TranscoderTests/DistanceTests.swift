import Foundation
import TestSupport
import Testing

@testable import Transcoder

/// The error of shortcuts against drawing each variant from every pixel; Benchmarks/Results/planes.md has the table.
@Suite(.timeLimit(.minutes(10)))
struct DistanceTests {
    /// A row of the table: a shortcut, a long side, and the lower bound in decibels.
    struct Row: Sendable, CustomTestStringConvertible {
        let way: String
        let side: Int
        let decibels: Double
        var testDescription: String { "\(way) to \(side)" }
    }

    /// The rows of the table: `| shortcut | side | … | at least |`.
    static let rows: [Row] = {
        let file = PackageRoot.path + "/Benchmarks/Results/planes.md"
        let page = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        return page.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5, let side = Int(cells[1]), let decibels = Double(cells[4]) else { return nil }
            return Row(way: cells[0], side: side, decibels: decibels)
        }
    }()

    /// Three images of 1600 × 1200, the same in every run: soft shapes, edges, fine lines, and a camera's noise.
    private static let maker = """
        import random, sys
        from PIL import Image, ImageDraw
        for n in range(3):
            r = random.Random(n)
            image = Image.frombytes('RGB', (16, 12), r.randbytes(576)).resize((1600, 1200), Image.BICUBIC)
            draw = ImageDraw.Draw(image)
            for _ in range(60):
                x, y, w, h = r.randint(0, 1600), r.randint(0, 1200), r.randint(10, 300), r.randint(10, 300)
                color = tuple(r.randbytes(3))
                kind = r.randint(0, 3)
                if kind == 0: draw.ellipse((x, y, x + w, y + h), fill=color)
                elif kind == 1: draw.rectangle((x, y, x + w, y + h), fill=color)
                elif kind == 2: draw.line((x, y, x + w, y + h), fill=color, width=r.randint(1, 6))
                else: draw.text((x, y), 'Larder keeps images', fill=color)
            noise = Image.frombytes('RGB', (400, 300), r.randbytes(360000)).resize((1600, 1200), Image.BICUBIC)
            Image.blend(image, noise, 0.06).save(f'{sys.argv[1]}/{n}.jpg', quality=90)
        """

    private func decibels(_ one: PixelSample, _ other: PixelSample) -> Double {
        10 * log10(255 * 255 / max(1e-9, one.squaredError(to: other)))
    }

    private func thumbnail(_ side: Int) -> String {
        #""thumbnail":{"width":\#(side),"height":\#(side)},"format":"png","keySuffix":"\#(side)""#
    }

    @Test func `shortcuts are as close to the exact result as the table says`() async throws {
        try #require(Self.rows.count == 6, "\(Self.rows)")
        let directory = try TemporaryDirectory()
        let made = try await RunningCommand(
            "/usr/bin/python3", ["-", directory.path], environment: [:], input: Array(Self.maker.utf8)
        ).outcome()
        try #require(made.code == 0, "\(String(decoding: made.errors, as: UTF8.self))")
        let harness = TranscodeHarness { $0.limits.allowsPlanes = false }
        var found: [String: [Double]] = [:]
        for number in 0..<3 {
            let jpeg = try Fixtures.bytes(directory.file("\(number).jpg"))
            // Every pixel as decoded: a PNG is not shrunk while it is decoded.
            let whole = try await harness.make(jpeg, #""keySuffix":"x","format":"png""#).files[0]
            let chained = try await harness.make(whole, thumbnail(800), thumbnail(400), thumbnail(200), thumbnail(100))
            for row in Self.rows {
                let exact = try await harness.make(whole, thumbnail(row.side)).sample()
                let quick =
                    row.way == "shrunk while decoding"
                    ? try await harness.make(jpeg, thumbnail(row.side)).sample()
                    : try chained.sample([800, 400, 200, 100].firstIndex(of: row.side) ?? 0)
                found[row.testDescription, default: []].append(decibels(quick, exact))
            }
        }
        for row in Self.rows {
            let worst = try #require(found[row.testDescription]?.min())
            #expect(worst >= row.decibels, "\(row.testDescription): \(found[row.testDescription] ?? [])")
        }
    }
}
