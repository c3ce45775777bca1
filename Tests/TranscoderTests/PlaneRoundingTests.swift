import Testing

@testable import Codecs
@testable import ImageModel
@testable import Transcoder

/// How often planes are rounded, and how far libjpeg shrinks them.
@Suite(.timeLimit(.minutes(5)))
struct PlaneRoundingTests {
    private let size = PixelSize(width: 97, height: 53)

    private func header(_ format: ImageFormat = .jpeg) -> SourceHeader {
        var header = SourceHeader(format: format, width: 4000, height: 4000)
        header.hasPlanes = true
        return header
    }

    private func plan(_ header: SourceHeader, _ variants: String...) throws -> DecodePlan {
        let parsed = try variants.enumerated().map { try Variant(json: #"{"name":"v\#($0)",\#($1)}"#.utf8) }
        return DecodePlan(
            header, variants: parsed, scale: 1, limits: TranscodeLimits(), writable: [.jpeg, .png, .webp])
    }

    private func box(_ side: Int, _ format: String, _ more: String = "") -> String {
        #""thumbnail":{"width":\#(side),"height":\#(side)},"format":"\#(format)","keySuffix":"\#(format)"\#(more)"#
    }

    @Test(
        arguments: [
            (80, 1539, 1), (80, 1538, 2), (80, 501, 2), (80, 500, 4), (80, 251, 4), (80, 250, 8), (60, 500, 4),
            (59, 2000, 2), (59, 1001, 2), (59, 1000, 4), (59, 500, 8), (95, 501, 2), (95, 500, 4),
        ], ["jpeg", "webp"])
    func `from a quality of 60 libjpeg leaves 1.3 times the size at a half, twice at a quarter and an eighth`(
        wanted: (quality: Int, side: Int, shrink: Int), format: String
    ) throws {
        let plan = try plan(header(), box(wanted.side, format, #","quality":\#(wanted.quality)"#))
        #expect(plan.path == .planes)
        #expect(plan.shrink == wanted.shrink)
    }

    @Test func `libjpeg leaves twice the size for a format without a quality`() throws {
        #expect(try plan(header(), box(1001, "png")).shrink == 1)
        #expect(try plan(header(), box(1000, "png")).shrink == 2)
    }

    @Test func `planes have WebP's range where all that show them unscaled are written with it`() throws {
        func ranges(_ header: SourceHeader, _ variants: String...) throws -> [PlanarImage.Range] {
            let plan = try variants.count == 1 ? plan(header, variants[0]) : plan(header, variants[0], variants[1])
            return try [plan.range] + plan.outputs.map { try $0.get().range }
        }
        let (webp, jpeg) = (box(1000, "webp"), box(1000, "jpeg"))
        #expect(try ranges(header(), webp) == [.limited, .limited])
        #expect(try ranges(header(), jpeg) == [.full, .full])
        // The same pixels: JPEG must not get them in WebP's range.
        #expect(try ranges(header(), webp, jpeg) == [.full, .full, .full])
        #expect(try ranges(header(), webp, box(1000, "png")) == [.full, .full, .full])
        // Resampling converts.
        #expect(try ranges(header(), webp, box(400, "jpeg")) == [.limited, .limited, .full])
        #expect(try ranges(header(), jpeg, box(400, "webp")) == [.full, .full, .limited])
        let better = box(1000, "webp", #","quality":95"#).replacing("Suffix\":\"webp", with: "Suffix\":\"better")
        #expect(try ranges(header(), webp, better) == [.limited, .limited, .limited])
        // Cut from the decoded pixels, without resampling.
        let part = #""transform":[{"type":"crop","x":0,"y":0,"width":9,"height":9}],"format""#
        #expect(try ranges(header(), #"\#(part):"webp""#, #"\#(part):"jpeg","keySuffix":"j""#)[0] == .full)
        // Colours are converted in full range.
        var wide = header()
        wide.hasPlanesToConvert = true
        #expect(try ranges(wide, webp) == [.full, .limited])
    }

    /// Luma and chroma of every level.
    private func image() throws -> PlanarImage {
        var random = SeededRandom(7)
        let planes = try [1, 2, 2].map { factor in
            let plane = try SamplePlane(size, factor: factor)
            for y in 0..<plane.height {
                for x in 0..<plane.width { plane.row(y)[x] = UInt8.random(in: 0...255, using: &random) }
            }
            plane.padEdges()
            return plane
        }
        return PlanarImage(size: size, luma: planes[0], cb: planes[1], cr: planes[2])
    }

    /// The largest difference from the values that `exact` has, in the range of the plane.
    private func distance(_ plane: SamplePlane, from exact: [Double]) -> Double {
        let (scale, offset) = (Double(plane.range.scale), Double(plane.range.offset))
        return (0..<plane.width * plane.height).map { place in
            let value = min(max(exact[place] * scale + offset, 0), 255)
            return abs(Double(plane.row(place / plane.width)[place % plane.width]) - value)
        }.max() ?? 0
    }

    @Test(arguments: [PlanarImage.Range.full, .limited])
    func `planes are resampled and converted to a range in one rounding`(range: PlanarImage.Range) throws {
        let image = try image(), luma = image.colors[0]
        let values = (0..<size.area).map { Double(luma.row($0 / size.width)[$0 % size.width]) }
        let exact = ExactImage(width: size.width, height: size.height, channels: [values, values, values])
        for scaled in [PixelSize(width: 41, height: 30), size] {
            let drawn = try image.drawn(PlaneView(whole: scaled), chroma: .subsampled420, range: range)
            #expect(drawn.colors.map(\.range) == [range.luma, range.chroma, range.chroma])
            let wanted = exact.resampled(scaled.width, scaled.height).channels[0]
            #expect(distance(drawn.colors[0], from: wanted) < 0.51)
            // A second time nothing changes.
            let same = try drawn.inYCC(.subsampled420, range)
            #expect(zip(same.colors, drawn.colors).allSatisfy { $0 === $1 })
        }
    }

    @Test(arguments: [PlanarImage.Range.full, .limited])
    func `red, green and blue become luma and chroma of a range in one rounding`(range: PlanarImage.Range) throws {
        var random = SeededRandom(8)
        let pixels = (0..<size.area * 3).map { _ in UInt8.random(in: 0...255, using: &random) }
        let image = try PlanarImage(uninitialized: PixelSize(width: size.area, height: 1), hasAlpha: false)
        image.fill(row: 0, pixels: pixels)
        var exact: [[Double]] = [[], [], []]
        for place in 0..<size.area {
            let (r, g, b) = (Double(pixels[3 * place]), Double(pixels[3 * place + 1]), Double(pixels[3 * place + 2]))
            let y = 0.299 * r + 0.587 * g + 0.114 * b
            exact[0].append(y)
            exact[1].append((b - y) / 1.772 + 128)
            exact[2].append((r - y) / 1.402 + 128)
        }
        for (plane, values) in zip(try image.inYCC(.full, range).colors, exact) {
            #expect(distance(plane, from: values) < 0.51)
        }
    }

    @Test func `a grey image has the range of its file`() throws {
        let grey = PlanarImage(size: size, grey: try image().colors[0])
        let limited = try grey.drawn(PlaneView(whole: size), chroma: .subsampled420, range: .limited)
        #expect(limited.colors.map(\.range) == [.limitedLuma])
        #expect(try limited.inRGB().colors.allSatisfy { $0.range == .full })
        let planes = try limited.inYCC(.subsampled420, .limited).colors
        #expect(planes[0] === limited.colors[0])
        #expect(planes[1].row(0)[0] == 128)
    }
}
