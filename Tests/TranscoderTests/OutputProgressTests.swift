import Testing

@testable import Codecs
@testable import ImageModel
@testable import Transcoder

/// The order of a plan's outputs, and what is drawn and held while they are made.
@Suite(.timeLimit(.minutes(5)))
struct OutputProgressTests {
    private func plan(_ variants: String..., planes: Bool = false) throws -> DecodePlan {
        let parsed = try variants.enumerated().map { try Variant(json: #"{"name":"v\#($0)",\#($1)}"#.utf8) }
        var header = SourceHeader(format: .jpeg, width: 4000, height: 3000)
        header.hasPlanes = planes
        return DecodePlan(
            header, variants: parsed, scale: 1, limits: TranscodeLimits(), writable: [.jpeg, .png, .webp])
    }

    private func box(_ side: Int, _ more: String = "") -> String {
        #""thumbnail":{"width":\#(side),"height":\#(side)}\#(more)"#
    }

    private func trimmed(_ side: Int, threshold: Int = 10) -> String {
        box(side, #","trim":{"threshold":\#(threshold)}"#)
    }

    @Test func `the time of drawing counts in the order, not of encoding alone`() throws {
        let variants = (trimmed(50), box(1000, #","format":"webp""#))
        #expect(try plan(variants.0, variants.1).encodingOrder == [1, 0])
        #expect(try plan(variants.0, variants.1, planes: true).encodingOrder == [1, 0])
        #expect(try plan(box(50), variants.1).encodingOrder == [0, 1])
    }

    @Test func `variants with one border are made together, as it is found once`() throws {
        #expect(try plan(trimmed(200), trimmed(300, threshold: 20), trimmed(400)).encodingOrder == [0, 2, 1])
        let one = try plan(trimmed(200)), same = try plan(trimmed(200), trimmed(400))
        let other = try plan(trimmed(200), trimmed(400, threshold: 20))
        // 350 ns for each of 12 million pixels.
        let border = Duration.milliseconds(4200)
        #expect(one.processorTime > border)
        #expect(same.processorTime < one.processorTime + border / 10)
        #expect(other.processorTime > one.processorTime + border)
        // Alone each of them takes the whole time.
        for time in same.outputTimes { #expect(time > border) }
    }

    @Test func `the time of an output includes its source output's time, until the source is drawn`() throws {
        let plan = try plan(box(2000), box(200))
        var progress = plan.progress
        #expect(progress.drawings(for: 1) == [0, 1])
        #expect(progress.drawings(for: 0) == [0])
        let whole = progress.time(for: 1)
        #expect(whole == plan.outputTimes[1])
        progress.draw(0)
        #expect(progress.drawings(for: 1) == [1])
        #expect(progress.time(for: 1) < whole / 10)
        let undrawn = plan.outputTimes[0]
        #expect(progress.drawings(for: 0).isEmpty)
        #expect(progress.time(for: 0) < undrawn)
    }

    @Test func `an output is held until it is finished and all that start from it are drawn`() throws {
        var progress = try plan(box(2000), box(1000), box(200)).progress
        #expect(progress.drawings(for: 2) == [0, 1, 2])
        #expect(progress.held.isEmpty)
        progress.draw(0)
        progress.finish(0)
        #expect(progress.held == [0])
        // Even when the next one cannot be made, another one is drawn from it.
        progress.finish(1)
        #expect(progress.held == [0])
        #expect(progress.drawings(for: 2) == [1, 2])
        progress.draw(1)
        #expect(progress.held == [1])
        progress.draw(2)
        #expect(progress.held == [2])
        progress.finish(2)
        #expect(progress.held.isEmpty)
    }

    @Test func `the decoded image is wanted for borders until the last one is cut`() throws {
        var progress = try plan(trimmed(200), trimmed(400), box(100)).progress
        for number in 0...1 {
            #expect(progress.needsTrimming)
            #expect(progress.trims(number))
            progress.draw(number)
        }
        #expect(!progress.needsTrimming)
        #expect(!progress.trims(2))
    }

    @Test func `an output with the bytes of another is not drawn, and is when that one failed`() throws {
        let plan = try plan(box(200), box(200, #","keySuffix":"x""#))
        #expect(plan.encodingOrder == [0, 1])
        var progress = plan.progress
        progress.draw(0)
        progress.finish(0)
        #expect(progress.held.isEmpty)
        #expect(progress.drawings(for: 1) == [1])
    }

    @Test func `the most memory is the sum of everything held at once`() throws {
        let bytes = [
            OutputBytes(pixels: 1000, steps: 30, encoder: 500), OutputBytes(pixels: 200, steps: 20, encoder: 100),
            OutputBytes(pixels: 10, steps: 5, encoder: 9),
        ]
        func most(_ progress: OutputProgress, _ order: [Int], _ bytes: [OutputBytes]) -> Int {
            var progress = progress, held = HeldBytes(bytes)
            for number in order { held.make(number, &progress) }
            return held.most
        }
        // The smallest first: all three are drawn for it, and the others are held meanwhile.
        let chain = try plan(box(2000), box(1000), box(200)).progress
        #expect(most(chain, [2, 1, 0], bytes) == 1000 + 30 + 500)
        #expect(most(chain, [1, 0, 2], bytes) == 1000 + 200 + 30 + 500, "the last one starts from the second")
        // Each for itself.
        let flip = #","transform":[{"type":"flip","vertical":true}]"#
        let apart = try plan(box(2000, flip), box(1900, flip), box(1800, flip)).progress
        #expect(most(apart, [0, 1, 2], bytes) == 1000 + 30 + 500)
        var shown = bytes
        shown[2].isForDigest = true
        #expect(most(apart, [2, 1, 0], shown) == 10 + 1000 + 30 + 500, "it is held for the digest")
    }

    @Test func `borders are cut from one copy of the image`() throws {
        let area = 12_000_000
        let one = try plan(trimmed(200), planes: true), plain = try plan(box(200), planes: true)
        #expect(one.path == .planes)
        #expect(one.memoryBytes > plain.memoryBytes + 4 * area)
        let three = try plan(trimmed(200), trimmed(400), trimmed(300, threshold: 20), planes: true)
        #expect(three.memoryBytes < one.memoryBytes + area)
        #expect(three.memoryBytes >= one.memoryBytes)
        // libvips cuts them from the decoded image itself.
        let libvips = try plan(trimmed(200)), several = try plan(trimmed(200), trimmed(300, threshold: 20))
        #expect(libvips.path == .libvips)
        #expect(several.memoryBytes < libvips.memoryBytes + area)
    }
}
