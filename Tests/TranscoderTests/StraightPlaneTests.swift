import ImageModel
import TestTranscoder
import Testing

@testable import Codecs
@testable import Transcoder

/// Planes with alpha: resampled as exactly as libvips resamples them, and unchanged where nothing is resampled.
@Suite(.timeLimit(.minutes(5)))
struct StraightPlaneTests {
    private let planes = PictureHarness()
    private let libvips = PictureHarness { $0.allowsPlanes = false }

    /// Colours, and an alpha that is soft, with an opaque and a transparent part.
    private func pixels(_ size: PixelSize) -> [UInt8] {
        var random = SeededRandom(5)
        let photo = SyntheticPhoto(size.width, size.height, &random)
        var pixels: [UInt8] = []
        for index in 0..<size.area {
            let (x, y) = (index % size.width, index / size.width)
            pixels += photo.pixels[index * 3..<index * 3 + 3]
            pixels.append(UInt8(min(max(x * 5 + y * 2 - 60, 0), 255)))
        }
        return pixels
    }

    private func png(_ size: PixelSize, _ chunks: [UInt8] = []) -> [UInt8] {
        let pixels = pixels(size), stride = size.width * 4
        let rows = (0..<size.height).flatMap { [0] + pixels[$0 * stride..<($0 + 1) * stride] }
        let header = SyntheticImage.big(size.width) + SyntheticImage.big(size.height) + [8, 6, 0, 0, 0]
        return SyntheticImage.png(header, rows, beforePixels: chunks)
    }

    /// The colours of an image by the share of their alpha, and the alpha three times.
    private func exact(_ pixels: [UInt8], _ size: PixelSize) -> (colors: ExactImage, alpha: ExactImage) {
        func image(_ value: (Int, Int) -> Double) -> ExactImage {
            ExactImage(
                width: size.width, height: size.height,
                channels: (0..<3).map { band in (0..<size.area).map { value($0 * 4, band) } })
        }
        let colors = image { Double(pixels[$0 + $1]) * Double(pixels[$0 + 3]) / 255 }
        return (colors, image { start, _ in Double(pixels[start + 3]) })
    }

    @Test(arguments: [(30, 20), (61, 49), (3, 2)])
    func `straight colours are resampled by their share of alpha, rounded once`(width: Int, height: Int) throws {
        let size = PixelSize(width: width, height: height)
        let whole = PixelSize(width: 97, height: 53), pixels = pixels(whole)
        let image = try PlanarImage(uninitialized: whole, hasAlpha: true)
        pixels.withUnsafeBufferPointer { pixels in
            guard let start = pixels.baseAddress else { return }
            for y in 0..<whole.height { image.fill(row: y, pixels: start + y * whole.width * 4) }
        }
        for plane in image.planes { plane.padEdges() }
        let exact = exact(pixels, whole)
        let colors = exact.colors.resampled(size.width, size.height)
        let alpha = exact.alpha.resampled(size.width, size.height)
        let result = try image.drawn(PlaneView(whole: size), chroma: .full)
        var worst = 0.0, transparent = 0
        for y in 0..<size.height {
            for x in 0..<size.width {
                let place = y * size.width + x, share = alpha.channels[0][place], opacity = min(max(share, 0), 255)
                let found = try #require(result.alpha).row(y)[x]
                worst = max(worst, abs(Double(found) - opacity))
                if opacity == 0 { transparent += 1 }
                for band in 0..<3 where opacity > 1 {
                    let color = min(max(colors.channels[band][place] / share * 255, 0), 255)
                    worst = max(worst, abs(Double(result.colors[band].row(y)[x]) - color))
                }
            }
        }
        #expect(worst < 0.51, "\(worst)")
        #expect(transparent > 0 || size.width < 10)
    }

    /// A filter makes more of alpha and of colours times alpha inside an edge, in the same proportion.
    @Test func `a hard edge of one colour keeps that colour`() async throws {
        let square = SyntheticImage.png(80, 80) { x, y in x < 41 || y < 41 ? [0, 0, 0, 0] : [200, 200, 200, 255] }
        for harness in [planes, libvips] {
            let output = try await harness.make(square, #""thumbnail":{"width":40,"height":40},"format":"png""#)
            let sample = try output.sample()
            #expect(sample.width == 40)
            #expect(sample.pixel(5, 5)[3] == 0)
            #expect(sample.pixel(35, 35) == [200, 200, 200, 255])
            for y in 0..<40 {
                for x in 0..<40 where sample.pixel(x, y)[3] > 0 {
                    let pixel = sample.pixel(x, y)
                    #expect(isClose(Array(pixel.prefix(3)), [200, 200, 200], within: 1), "\(x),\(y): \(pixel)")
                }
            }
        }
    }

    @Test func `a transparent image not shrunk keeps every pixel, even if another variant is shrunk`() async throws {
        let size = PixelSize(width: 60, height: 50), file = png(size)
        let variants = [#""keySuffix":"x","format":"png""#, #""thumbnail":{"width":20,"height":20},"format":"png""#]
        let source = try ScratchFile(file)
        let parsed = try variants.map { try Variant(json: #"{"name":"v",\#($0)}"#.utf8) }
        #expect(try await planes.transcoder.plan(source.descriptor, variants: parsed).path == "planes")
        let one = try await planes.make(file, variants[0], variants[1])
        let other = try await libvips.make(file, variants[0], variants[1])
        let found = try one.sample(0), pixels = pixels(size)
        for place in stride(from: 0, to: size.area, by: 7) {
            let expected = pixels[place * 4..<place * 4 + 4].map(Int.init)
            #expect(found.pixel(place % size.width, place / size.width) == expected)
        }
        #expect(try one.sample(1).maxDifference(from: other.sample(1)) <= 1)
    }

    /// The mean of the squared differences of the colours as far as they show, and of alpha.
    private func error(_ found: PixelSample, _ exact: (colors: ExactImage, alpha: ExactImage)) -> Double {
        var sum = 0.0
        for y in 0..<found.height {
            for x in 0..<found.width {
                let pixel = found.pixel(x, y).map(Double.init), place = y * found.width + x
                for band in 0..<3 {
                    let difference = pixel[band] * pixel[3] / 255 - exact.colors.channels[band][place]
                    sum += difference * difference
                }
                sum += (pixel[3] - exact.alpha.channels[0][place]) * (pixel[3] - exact.alpha.channels[0][place])
            }
        }
        return sum / Double(found.width * found.height * 4)
    }

    /// Display P3 in sRGB, each pixel by itself, the colours by the share of their alpha.
    private func converted(
        _ image: (colors: ExactImage, alpha: ExactImage)
    ) throws -> (colors: ExactImage, alpha: ExactImage) {
        let from = try #require(ColorPrimaries.displayP3.adaptedColumns)
        let to = try #require(ColorPrimaries.sRGB.adaptedColumns)
        let inverse = try #require(Matrix3(columns: to).inverse), matrix = inverse.times(Matrix3(columns: from))
        var channels = image.colors.channels
        for place in channels[0].indices {
            let alpha = image.alpha.channels[0][place]
            guard alpha > 0 else { continue }
            let straight = channels.map { min(max($0[place] / alpha, 0), 1) }
            for (band, light) in matrix.times(straight.map(LinearLight.linear)).enumerated() {
                channels[band][place] = LinearLight.encoded(min(max(light, 0), 1)) * min(alpha, 255)
            }
        }
        let colors = ExactImage(width: image.colors.width, height: image.colors.height, channels: channels)
        return (colors, image.alpha)
    }

    @Test(arguments: ["png", "webp", "avif"], [false, true])
    func `soft alpha is written as close to the exact result as from libvips' pixels`(format: String, isWide: Bool)
        async throws
    {
        let size = PixelSize(width: 150, height: 110)
        let file = png(size, isWide ? SyntheticImage.chunk("cICP", [12, 13, 0, 1]) : [])
        let whole = exact(pixels(size), size)
        let shrunk = (whole.colors.resampled(75, 55), whole.alpha.resampled(75, 55))
        let reference = isWide ? try converted(shrunk) : shrunk
        let wanted = #""thumbnail":{"width":75,"height":55},"quality":80,"format":"\#(format)""#
        let one = error(try await planes.make(file, wanted).sample(), reference)
        let other = error(try await libvips.make(file, wanted).sample(), reference)
        #expect(one <= other * 1.02 + 0.02, "\(one) \(other)")
        if format == "png" { #expect(one < 0.5) }
    }
}
