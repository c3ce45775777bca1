import Glibc
import Testing

@testable import Transcoder

/// The transformers' pixels, beyond the rows of the vectors.
@Suite(.timeLimit(.minutes(5)))
struct TransformTests {
    private let harness = PictureHarness()

    private func drawn(_ image: [UInt8], _ transform: String, scale: Double = 1) async throws -> PixelSample {
        try await harness.make(image, #""transform":[\#(transform)],"format":"png""#, scale: scale).sample()
    }

    private func testImage() throws -> [UInt8] { try Fixtures.bytes(try #require(Fixtures.shared) + "/TestImage.png") }

    @Test(arguments: [(true, false), (false, true), (true, true)])
    func `a flip moves pixels and changes none`(horizontal: Bool, vertical: Bool) async throws {
        let sample = try await drawn(
            SyntheticImage.map(31, 21), #"{"type":"flip","horizontal":\#(horizontal),"vertical":\#(vertical)}"#)
        for (x, y) in [(0, 0), (30, 20), (3, 17), (15, 10)] {
            let (column, row) = (horizontal ? 30 - x : x, vertical ? 20 - y : y)
            #expect(sample.pixel(x, y) == [column, row, 0, 255])
        }
    }

    @Test func `a rotation by right angles moves pixels and changes none`() async throws {
        let image = SyntheticImage.map(30, 20)
        let left = try await drawn(image, #"{"type":"rotate","angle":\#(Double.pi / 2),"fitSize":true}"#)
        #expect(left.width == 20)
        #expect(left.height == 30)
        // The pixel at (x, y) moves to (y, w-1-x).
        for (x, y) in [(0, 0), (29, 19), (4, 13)] { #expect(left.pixel(y, 29 - x) == [x, y, 0, 255]) }
        let right = try await drawn(image, #"{"type":"rotate","angle":\#(-Double.pi / 2),"fitSize":true}"#)
        #expect(right.pixel(19 - 3, 7) == [7, 3, 0, 255])
        let half = try await drawn(image, #"{"type":"rotate","angle":\#(5 * Double.pi)}"#)
        #expect(half.pixel(29 - 7, 19 - 3) == [7, 3, 0, 255])
        let clipped = try await drawn(image, #"{"type":"rotate","angle":\#(Double.pi / 2)}"#)
        #expect(clipped.width == 30)
        #expect(clipped.height == 20)
        #expect(clipped.pixel(4, 10) == [0, 0, 0, 0])
        #expect(clipped.pixel(25, 10) == [0, 0, 0, 0])
        #expect(clipped.pixel(10, 10) == [14, 5, 0, 255])
    }

    @Test(.enabled(if: Fixtures.shared != nil, "SDWebImage's images are not present"))
    func `positive angles rotate counter-clockwise`() async throws {
        let sample = try await drawn(try testImage(), #"{"type":"rotate","angle":\#(Double.pi / 4)}"#)
        #expect(sample.pixel(60, 175) == [151, 36, 31, 255])
        let fitted = try await drawn(try testImage(), #"{"type":"rotate","angle":\#(Double.pi / 4),"fitSize":true}"#)
        #expect(fitted.width == 425)
        #expect(fitted.height == 425)
        #expect(fitted.pixel(60, 175) == [0, 0, 0, 255])
    }

    @Test func `a rotated square keeps its colour up to its smooth edges`() async throws {
        let sample = try await drawn(
            SyntheticImage.plain(101, 101, [10, 200, 30, 255]), #"{"type":"rotate","angle":0.3,"fitSize":true}"#)
        let middle = sample.pixel(sample.width / 2, sample.height / 2)
        #expect(middle == [10, 200, 30, 255])
        let (cosine, sine) = (cos(0.3), sin(0.3)), centre = Double(sample.width) / 2
        var (soft, furthest) = (0, 0)
        for row in 0..<20 {
            let y = sample.height / 3 + row
            for x in 0..<sample.width {
                let pixel = sample.pixel(x, y)
                if pixel[3] > 60 { #expect(isClose(pixel, [10, 200, 30, pixel[3]], within: 6), "\(pixel) at \(x)") }
                // The part of the pixel that the square covers, from 64 points.
                let points = (0..<64).count { point in
                    let across = Double(x) + (Double(point % 8) + 0.5) / 8 - centre
                    let down = Double(y) + (Double(point / 8) + 0.5) / 8 - Double(sample.height) / 2
                    return max(abs(across * cosine - down * sine), abs(across * sine + down * cosine)) < 50.5
                }
                furthest = max(furthest, abs(pixel[3] - points * 255 / 64))
                if (1...254).contains(pixel[3]) { soft += 1 }
            }
        }
        // Two smooth edges cross every row.
        #expect(soft >= 40, "\(soft)")
        #expect(furthest <= 48, "\(furthest)")
        // The covered area is unchanged.
        var area = 0
        for y in 0..<sample.height { for x in 0..<sample.width { area += sample.pixel(x, y)[3] } }
        let covered = Double(area) / 255 / 10201
        #expect(covered > 0.99)
        #expect(covered < 1.01)
    }

    @Test func `all, some or no corners are rounded, with smooth arcs of the right size`() async throws {
        let red = SyntheticImage.plain(100, 100, [255, 0, 0, 255])
        let all = try await drawn(red, #"{"type":"roundCorner","radius":50}"#)
        var area = 0.0
        for y in 0..<100 { for x in 0..<100 { area += Double(all.pixel(x, y)[3]) / 255 } }
        #expect(area > 7849, "a circle of radius 50")
        #expect(area < 7859, "a circle of radius 50")
        #expect(all.pixel(50, 0)[3] > 250)
        let two = try await drawn(red, #"{"type":"roundCorner","radius":20,"corners":["topLeft","bottomRight"]}"#)
        #expect(two.pixel(0, 0)[3] == 0)
        #expect(two.pixel(99, 99)[3] == 0)
        #expect(two.pixel(99, 0) == [255, 0, 0, 255])
        #expect(two.pixel(0, 99) == [255, 0, 0, 255])
        // A larger radius counts as half the side.
        let large = try await drawn(red, #"{"type":"roundCorner","radius":1000}"#)
        for (x, y) in [(0, 0), (14, 14), (20, 3)] { #expect(large.pixel(x, y) == all.pixel(x, y)) }
        let none = try await drawn(red, #"{"type":"roundCorner","radius":20,"corners":[]}"#)
        #expect(none.pixel(0, 0) == [255, 0, 0, 255])
        let wide = try await drawn(
            red, ##"{"type":"roundCorner","radius":5,"borderWidth":50,"borderColor":"#ff000000"}"##)
        #expect((0..<100).allSatisfy { wide.pixel($0, $0) == [0, 0, 0, 0] })
    }

    @Test func `radius and border width are in points`() async throws {
        let sample = try await drawn(
            SyntheticImage.plain(100, 100, [255, 0, 0, 255]),
            ##"{"type":"roundCorner","radius":0,"borderWidth":2,"borderColor":"#ff0000ff"}"##, scale: 2)
        // 4 pixels wide, at the inset of 4.5 less half the width.
        #expect(sample.pixel(1, 50) == [0, 0, 0, 0])
        #expect(sample.pixel(2, 50) == [0, 0, 255, 128])
        #expect([3, 4, 5].allSatisfy { sample.pixel($0, 50) == [0, 0, 255, 255] })
        #expect(sample.pixel(7, 50) == [255, 0, 0, 255])
    }

    @Test(.enabled(if: Fixtures.shared != nil, "SDWebImage's images are not present"))
    func `a blur gives SDWebImage's pixels`() async throws {
        let sample = try await drawn(try testImage(), #"{"type":"blur","radius":25}"#)
        let pixel = sample.pixel(80, 150)
        // Premultiplied exactly (114, 27, 23, 193).
        #expect(pixel[3] == 193)
        let premultiplied = pixel[0..<3].map { value -> Int in (value * 193 + 127) / 255 }
        #expect(premultiplied == [114, 27, 23])
    }

    /// As in SDWebImage, a radius up to the smallest step of a Float draws nothing.
    @Test(arguments: ["0", "-0.0", "1e-7", "-1", "-25"])
    func `a blur with a radius of 0 or less changes nothing`(radius: String) async throws {
        let sample = try await drawn(SyntheticImage.map(20, 20), #"{"type":"blur","radius":\#(radius)}"#)
        #expect(sample.pixel(7, 9) == [7, 9, 0, 255])
        #expect(sample.pixel(19, 0) == [19, 0, 0, 255])
    }

    @Test func `a blur of a huge radius ends, and keeps an image of one colour`() async throws {
        let flat = try await drawn(SyntheticImage.plain(40, 30, [12, 34, 56, 255]), #"{"type":"blur","radius":1e9}"#)
        #expect(flat.pixel(0, 0) == [12, 34, 56, 255])
        #expect(flat.pixel(39, 29) == [12, 34, 56, 255])
        let clear = try await drawn(SyntheticImage.plain(40, 30, [0, 0, 0, 0]), #"{"type":"blur","radius":5}"#)
        #expect(clear.pixel(20, 15) == [0, 0, 0, 0])
    }

    @Test func `transformers are applied in their order`() async throws {
        let sample = try await drawn(
            SyntheticImage.map(60, 40),
            ##"{"type":"crop","x":10,"y":10,"width":20,"height":20},{"type":"flip","horizontal":true},"##
                + ##"{"type":"rotate","angle":\##(Double.pi / 2),"fitSize":true},{"type":"tint","color":"#80ffffff","blendMode":"clear"}"##
        )
        #expect(sample.width == 20)
        #expect(sample.pixel(4, 4) == [0, 0, 0, 0])
    }

    @Test func `a clear tint changes nothing, and a tint keeps the image opaque where its mode does`()
        async throws
    {
        let image = SyntheticImage.map(20, 20)
        let clear = try await drawn(image, ##"{"type":"tint","color":"#00ff0000"}"##)
        #expect(clear.pixel(3, 4) == [3, 4, 0, 255])
        let jpeg = try Fixtures.image("plain.jpg")
        let over = try await drawn(jpeg, ##"{"type":"tint","color":"#40ff0000","blendMode":"normal"}"##)
        #expect(!over.hasAlpha)
        let inside = try await drawn(jpeg, ##"{"type":"tint","color":"#40ff0000"}"##)
        #expect(inside.hasAlpha)
        #expect(inside.pixel(9, 9) == [255, 0, 0, 64])
    }

    @Test func `sides are cut to whole points before a rotation`() async throws {
        let sample = try await drawn(
            SyntheticImage.plain(31, 31, [9, 9, 9, 255]), #"{"type":"rotate","angle":0.5}"#, scale: 2)
        #expect(sample.width == 30)
        #expect(sample.height == 30)
    }

    @Test func `an image of less than a point can be neither rotated nor blurred`() async throws {
        let output = try await harness.make(
            SyntheticImage.plain(1, 1, [9, 9, 9, 255]), #""transform":[{"type":"rotate","angle":0.5}]"#,
            #""transform":[{"type":"blur","radius":5}]"#, scale: 2)
        for result in output.report.variants {
            guard case .failure(let error) = result else {
                Issue.record("it was drawn")
                continue
            }
            #expect(error.code == .transform)
        }
    }
}
