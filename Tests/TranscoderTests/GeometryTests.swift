import Foundation
import Testing

@testable import Codecs
@testable import ImageModel

@Suite(.timeLimit(.minutes(5)))
struct GeometryTests {
    private func size(_ width: Int, _ height: Int) -> PixelSize { PixelSize(width: width, height: height) }

    @Test func `every vector's thumbnail has its longest side`() throws {
        for row in try Fixtures.rows("thumbnails.json", "thumbnail_longest_side") {
            let pixel = try #require(row["pixel"] as? [Int]), box = try #require(row["thumbnail"] as? [Int])
            let longest = Geometry.thumbnailLongestSide(
                stored: size(pixel[0], pixel[1]), width: Double(box[0]), height: Double(box[1]))
            if let expected = (row["longest_side_or_full"] as? NSNumber)?.doubleValue {
                #expect(abs((longest ?? -1) - expected) < 1e-9, "\(row)")
            } else {
                #expect(longest == nil, "\(row)")
            }
        }
    }

    @Test(arguments: [
        (5250, 3450, 400.0, 300.0, true, 400, 263), (5250, 3450, 4000, 4000, true, 4000, 2629),
        (100, 1000, 200, 100, true, 10, 100), (300, 200, 50, 50, false, 50, 50),
        (40, 30, 20.9, 10.5, false, 20, 10), (40, 30, 0.5, 9, false, 1, 9), (16000, 2, 10, 10, true, 10, 1),
    ])
    func `thumbnail sizes are rounded, without their aspect ratio truncated, and never empty`(
        width: Int, height: Int, boxWidth: Double, boxHeight: Double, keep: Bool, outWidth: Int, outHeight: Int
    ) {
        let box = Variant.Thumbnail(width: boxWidth, height: boxHeight, preserveAspectRatio: keep)
        #expect(Geometry.thumbnail(stored: size(width, height), box: box) == size(outWidth, outHeight))
    }

    @Test func `an image within the box is decoded in full, with and without its aspect ratio`() {
        let box = Variant.Thumbnail(width: 200, height: 200, preserveAspectRatio: false)
        #expect(Geometry.thumbnail(stored: size(100, 200), box: box) == nil)
    }

    // SDImageCoderHelper.m 643–648 of SDWebImage 5.21.5.
    @Test(arguments: [(1, 1), (3, 1), (399, 100)])
    func `a limit of less than four bytes a frame leaves one pixel`(bytes: Int, frames: Int) {
        #expect(Geometry.limited(size(40, 10), bytes: bytes, frames: frames) == size(1, 1))
        #expect(Geometry.limited(size(40, 10), bytes: 4 * frames, frames: frames) == size(2, 1))
    }

    @Test func `a canvas is rounded up, except for floating-point noise`() {
        #expect(Geometry.canvas(width: 100.1, height: 200.0000000001, scale: 1) == size(101, 200))
        #expect(Geometry.canvas(width: 100.5, height: 4e-7, scale: 2) == size(201, 1))
        #expect(Geometry.canvas(width: 1e300, height: 1, scale: 3) == size(1_000_000_000, 3))
    }

    @Test func `aspectFill centres and overflows as in the vector`() throws {
        let content = try #require(Geometry.content(of: size(80, 60), width: 100, height: 100, mode: .aspectFill))
        #expect(abs(content.x + 16.6667) < 1e-3)
        #expect(content.y == 0)
        #expect(abs(content.width - 133.3333) < 1e-3)
        #expect(content.height == 100)
        let drawn = Geometry.drawn(content, on: size(100, 100))
        #expect(drawn == PixelRect(x: -17, y: 0, width: 134, height: 100))
    }

    @Test func `aspectFit leaves margins, and draws nothing into an empty size`() throws {
        let content = try #require(Geometry.content(of: size(300, 300), width: 200, height: 100, mode: .aspectFit))
        #expect(content == FractionalRect(x: 50, y: 0, width: 100, height: 100))
        #expect(Geometry.drawn(content, on: size(200, 100)) == PixelRect(x: 50, y: 0, width: 100, height: 100))
        #expect(Geometry.content(of: size(300, 300), width: 0.009, height: 100, mode: .aspectFit) == nil)
        #expect(Geometry.content(of: size(300, 300), width: 0.009, height: 100, mode: .fill) != nil)
    }

    @Test func `the drawn rectangle is within the canvas or covers it`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let image = size(.random(in: 1...5000, using: &generator), .random(in: 1...5000, using: &generator))
            let width = Double.random(in: 0.02...3000), height = Double.random(in: 0.02...3000)
            let canvas = Geometry.canvas(width: width, height: height, scale: 1)
            for mode in Transform.ScaleMode.allCases {
                guard let content = Geometry.content(of: image, width: width, height: height, mode: mode) else {
                    Issue.record("nothing drawn of \(image) at \(width)x\(height)")
                    continue
                }
                let drawn = Geometry.drawn(content, on: canvas)
                let covers =
                    drawn.x <= 0 && drawn.y <= 0 && drawn.x + drawn.width >= canvas.width
                    && drawn.y + drawn.height >= canvas.height
                let lies =
                    drawn.x >= 0 && drawn.y >= 0 && drawn.x + drawn.width <= canvas.width
                    && drawn.y + drawn.height <= canvas.height
                #expect(
                    mode == .aspectFit ? lies : covers, "\(image) \(width)x\(height) \(mode): \(drawn) on \(canvas)")
                #expect(drawn.width > 0)
                #expect(drawn.height > 0)
            }
        }
    }

    @Test(arguments: [
        ([-10.0, -10, 50, 50], PixelRect(x: 0, y: 0, width: 40, height: 40)),
        ([90, 90, 50, 50], PixelRect(x: 90, y: 90, width: 10, height: 10)),
        ([10.5, 10.5, 10, 10], PixelRect(x: 10, y: 10, width: 11, height: 11)),
        ([100, 0, 10, 10], nil), ([0, 0, 0, 5], nil), ([-10, 0, 10, 10], nil),
        ([-1e300, -1e300, 1e301, 1e301], PixelRect(x: 0, y: 0, width: 100, height: 100)),
    ])
    func `a crop grows to whole pixels and is cut to the image`(rect: [Double], expected: PixelRect?) {
        let rect = FractionalRect(x: rect[0], y: rect[1], width: rect[2], height: rect[3])
        #expect(Geometry.crop(rect, scale: 1, of: size(100, 100)) == expected)
    }

    @Test func `a crop is in points`() {
        let rect = FractionalRect(x: 10, y: 10, width: 20, height: 20)
        let part = Geometry.crop(rect, scale: 2, of: size(100, 100))
        #expect(part == PixelRect(x: 20, y: 20, width: 40, height: 40))
    }
}
