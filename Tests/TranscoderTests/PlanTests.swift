import Testing

@testable import Codecs
@testable import ImageModel
@testable import Transcoder

@Suite(.timeLimit(.minutes(5)))
struct PlanTests {
    private func header(_ width: Int, _ height: Int, _ format: ImageFormat = .jpeg, orientation: Int = 1)
        -> SourceHeader
    {
        SourceHeader(format: format, width: width, height: height, orientation: orientation)
    }

    private func plan(
        _ header: SourceHeader, _ variants: String..., scale: Double = 1, limits: TranscodeLimits = TranscodeLimits()
    ) throws -> DecodePlan {
        let parsed = try variants.enumerated().map { try Variant(json: #"{"name":"v\#($0)",\#($1)}"#.utf8) }
        return DecodePlan(
            header, variants: parsed, scale: scale, limits: limits,
            writable: [.jpeg, .png, .gif, .webp, .avif, .heic])
    }

    private let fit = { (side: Int) in
        #""transform":[{"type":"resize","width":\#(side),"height":\#(side),"scaleMode":"aspectFill"}]"#
    }

    @Test(arguments: [(1000, 1), (999, 2), (500, 2), (499, 4), (250, 4), (249, 8), (10, 8)])
    func `libjpeg shrinks as long as twice the needed size is left`(side: Int, shrink: Int) throws {
        let plan = try plan(header(3998, 3998), #""thumbnail":{"width":\#(side),"height":\#(side)}"#)
        #expect(plan.shrink == shrink)
        #expect(plan.base == PixelSize(width: side, height: side))
    }

    @Test func `only JPEG is shrunk while it is decoded`() throws {
        #expect(try plan(header(4000, 4000, .png), #""thumbnail":{"width":10,"height":10}"#).shrink == 1)
    }

    @Test func `an image is decoded once, at the largest size that any variant needs`() throws {
        let plan = try plan(header(4000, 3000), fit(100), #""thumbnail":{"width":1024,"height":1024}"#, fit(300))
        #expect(plan.base == PixelSize(width: 1024, height: 768))
        #expect(plan.shrink == 1)
        #expect(plan.outputs.count == 3)
    }

    @Test func `a crop, or no step, needs every pixel`() throws {
        let crop = #""transform":[{"type":"crop","x":0,"y":0,"width":5,"height":5}]"#
        #expect(try plan(header(4000, 3000), fit(100), crop).base == PixelSize(width: 4000, height: 3000))
        #expect(try plan(header(4000, 3000), #""keySuffix":"x""#).base == PixelSize(width: 4000, height: 3000))
    }

    @Test func `a variant that cannot be made needs no pixels`() throws {
        let crop = #""transform":[{"type":"crop","x":9000,"y":0,"width":5,"height":5}]"#
        let plan = try plan(header(4000, 4000), fit(100), crop)
        #expect(plan.base == PixelSize(width: 100, height: 100))
        #expect(throws: TranscodeError.self) { try plan.outputs[1].get().drawing }
    }

    @Test func `enlarging needs the original's size`() throws {
        let plan = try plan(header(100, 80), fit(1000))
        #expect(plan.base == PixelSize(width: 100, height: 80))
    }

    @Test func `where one side grows and the other shrinks, every pixel is resampled in one step`() throws {
        let plan = try plan(header(400, 400, .png), #""transform":[{"type":"resize","width":500,"height":100}]"#)
        #expect(plan.base == PixelSize(width: 400, height: 400))
        #expect(try plan.outputs[0].get().drawing.steps == [.scale(PixelSize(width: 500, height: 100))])
    }

    @Test func `rotated files compare the box with the stored size`() throws {
        // Stored 4000x3000, upright 3000x4000: the box gives 400x300 as stored, 300x400 upright.
        let plan = try plan(header(4000, 3000, orientation: 6), #""thumbnail":{"width":400,"height":300}"#)
        #expect(plan.base == PixelSize(width: 400, height: 300))
        let drawing = try plan.outputs[0].get().drawing
        #expect(drawing.size == PixelSize(width: 300, height: 400))
        #expect(drawing.steps == [.scale(PixelSize(width: 300, height: 400))])
    }

    @Test func `transformers are applied to the upright image`() throws {
        let plan = try plan(
            header(400, 300, orientation: 8), #""transform":[{"type":"crop","x":0,"y":350,"width":300,"height":50}]"#)
        #expect(try plan.outputs[0].get().drawing.size == PixelSize(width: 300, height: 50))
    }

    @Test func `lengths are in points, thumbnails in pixels`() throws {
        let plan = try plan(
            header(1000, 1000), fit(100), #""thumbnail":{"width":100,"height":100}"#, scale: 2)
        #expect(try plan.outputs[0].get().drawing.size == PixelSize(width: 200, height: 200))
        #expect(try plan.outputs[1].get().drawing.size == PixelSize(width: 100, height: 100))
    }

    @Test func `a narrow strip that fills a square is cut before it is enlarged`() throws {
        let plan = try plan(header(16000, 1), fit(1000))
        let drawing = try plan.outputs[0].get().drawing
        #expect(drawing.size == PixelSize(width: 1000, height: 1000))
        for case .scale(let size) in drawing.steps { #expect(size.area < 20_000_000) }
    }

    @Test func `a resize to the image's own size has no steps`() throws {
        #expect(try plan(header(100, 100), fit(100)).outputs[0].get().drawing.steps.isEmpty)
    }

    @Test func `a variant with an edge over the limit is refused`() throws {
        // With memory for both.
        var limits = TranscodeLimits()
        limits.memoryBytes = 8 << 30
        let plan = try plan(header(100, 100), fit(8193), fit(8192), limits: limits)
        guard case .failure(let error) = plan.outputs[0] else {
            Issue.record("8193 pixels were let through")
            return
        }
        #expect(error.code == .edge)
        #expect(error.message.contains("8193"))
        #expect(error.message.contains("8192"))
        #expect(throws: Never.self) { try plan.outputs[1].get().drawing }
    }

    @Test func `the memory estimate includes what decoders hold`() throws {
        var progressive = header(6000, 6000)
        progressive.isInterlaced = true
        let variant = #""thumbnail":{"width":100,"height":100}"#
        #expect(try plan(progressive, variant).memoryBytes > 5 * plan(header(6000, 6000), variant).memoryBytes)
    }

    @Test func `each limit refuses with its own code`() {
        let limits = TranscodeLimits()
        func code(_ header: SourceHeader) -> TranscodeError.Code? {
            do throws(TranscodeError) {
                try limits.check(header)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code(header(10_000, 5_000)) == nil)
        #expect(code(header(10_000, 5_001)) == .pixels)
        #expect(code(header(16_384, 1)) == .edge)
        #expect(code(header(10, 10, .tiff)) == .undecodable)
        var animated = header(1000, 1000, .gif)
        animated.frames = 100
        #expect(code(animated) == nil)
        animated.frames = 101
        #expect(code(animated) == .frames)
        animated.format = .png
        #expect(code(animated) == nil, "a PNG's frames are decoded only where a variant has them")
        animated.format = .webp
        animated.frames = 11
        animated.width = 10_000
        #expect(code(animated) == .frames)
    }

    @Test func `formats are kept by the documented rule, and a format that cannot be written is reported`() {
        let every: Set<ImageFormat> = [.jpeg, .png, .gif, .webp, .avif, .heic]
        func decide(
            _ source: ImageFormat, alpha: Bool = false, asked: ImageFormat? = nil, width: Int = 100, height: Int = 1,
            writable: Set<ImageFormat>? = nil
        ) -> OutputFormat.Choice {
            OutputFormat.decide(
                requested: asked, source: source, size: PixelSize(width: width, height: height), hasAlpha: alpha,
                writable: writable ?? every)
        }
        func expect(_ choice: OutputFormat.Choice, _ format: ImageFormat, replaced: ImageFormat? = nil) {
            #expect(choice.format == format, "\(choice)")
            #expect(choice.replaced == replaced, "\(choice)")
        }
        for format in [ImageFormat.jpeg, .png, .gif, .webp, .heic] { expect(decide(format, alpha: true), format) }
        expect(decide(.heif), .heic)
        expect(decide(.avif), .jpeg)
        expect(decide(.avif, alpha: true), .png)
        expect(decide(.avif, alpha: true, asked: .jpeg), .jpeg)
        expect(decide(.jpeg, asked: .avif), .avif)
        expect(decide(.heic, width: ImageFormat.heic.output?.maxPixels ?? 0, height: 2), .jpeg, replaced: .heic)
        expect(decide(.png, alpha: true, asked: .avif, width: 8000, height: 8000), .png, replaced: .avif)
        expect(decide(.jpeg, asked: .webp, width: 16384), .jpeg, replaced: .webp)
        expect(decide(.heic, alpha: true, writable: [.jpeg, .png]), .png, replaced: .heic)
    }

    private func output(_ plan: DecodePlan, _ index: Int) throws -> PlannedOutput { try plan.outputs[index].get() }

    @Test func `a variant is drawn from the next larger one where it has at most five eighths of its size`() throws {
        let plan = try plan(
            header(4000, 3000), #""thumbnail":{"width":160,"height":160}"#,
            #""thumbnail":{"width":1024,"height":1024}"#,
            #""thumbnail":{"width":400,"height":400}"#, #""thumbnail":{"width":256,"height":256}"#)
        #expect(plan.order == [1, 2, 3, 0])
        #expect(try output(plan, 1).start == .base)
        #expect(try output(plan, 2).start == .output(1))
        // 256 is more than five eighths of 400.
        #expect(try output(plan, 3).start == .output(1))
        #expect(try output(plan, 0).start == .output(3))
        #expect(try output(plan, 0).steps == [.scale(PixelSize(width: 160, height: 120))])
    }

    @Test func `the cheapest variant is encoded first, and a copy of its bytes after it`() throws {
        let plan = try plan(
            header(4000, 3000), #""thumbnail":{"width":1024,"height":1024},"maxBytes":9000"#,
            #""thumbnail":{"width":1024,"height":1024},"format":"avif","keySuffix":"a""#,
            #""thumbnail":{"width":160,"height":160},"keySuffix":"b""#,
            #""thumbnail":{"width":1024,"height":1024},"keySuffix":"c""#,
            #""thumbnail":{"width":160,"height":160},"keySuffix":"d""#)
        #expect(plan.encodingOrder == [2, 4, 3, 0, 1])
    }

    @Test func `variants are drawn only from others that show the whole image`() throws {
        let crop = #""transform":[{"type":"crop","x":0,"y":0,"width":2000,"height":2000}]"#
        let square = #""transform":[{"type":"resize","width":1000,"height":1000,"scaleMode":"aspectFit"}]"#
        let plan = try plan(header(4000, 3000), crop, square, #""thumbnail":{"width":100,"height":100}"#)
        #expect(try output(plan, 2).start == .base)
    }

    @Test func `equal pixels are drawn once, and equal bytes are encoded once`() throws {
        let plan = try plan(
            header(4000, 3000), fit(300), #"\#(fit(300)),"keySuffix":"b""#,
            #"\#(fit(300)),"keySuffix":"c","format":"webp""#,
            #"\#(fit(300)),"keySuffix":"d","quality":10"#, #"\#(fit(300)),"keySuffix":"e","format":"webp""#)
        #expect(try output(plan, 1).sameBytesAs == 0)
        #expect(try output(plan, 2).sameBytesAs == nil)
        #expect(try output(plan, 2).steps.isEmpty)
        #expect(try output(plan, 3).sameBytesAs == nil)
        #expect(try output(plan, 3).steps.isEmpty)
        #expect(try output(plan, 4).sameBytesAs == 2)
        for index in 1...4 {
            guard case .output(let other) = try output(plan, index).start else {
                Issue.record("\(index) begins anew")
                continue
            }
            #expect(plan.order.firstIndex(of: other) ?? 9 < plan.order.firstIndex(of: index) ?? 0)
        }
    }

    private let stretched = { (width: Int, height: Int) in
        #""transform":[{"type":"resize","width":\#(width),"height":\#(height)}],"keySuffix":"\#(width)""#
    }

    @Test(arguments: [1, 6])
    func `the decoded image has halved chroma where what needs full chroma is much smaller`(orientation: Int) throws {
        // Upright 4000×3000.
        let stored = orientation == 6 ? header(3000, 4000, orientation: 6) : header(4000, 3000)
        // Half the size, a half divided by 1.3, a quarter.
        for (width, height, format) in [
            (500, 200, #""avif","quality":50"#), (384, 153, #""jpeg","quality":95"#), (250, 100, #""png""#),
        ] {
            let small = #"\#(stretched(width, height)),"format":\#(format)"#
            let plan = try plan(stored, stretched(1000, 400), small)
            #expect(plan.chroma == .subsampled420, "\(format)")
            #expect(try output(plan, 0).chroma == .subsampled420, "\(format)")
            #expect(try output(plan, 1).chroma == .full, "\(format)")
        }
    }

    @Test func `the decoded image has full chroma where a variant that needs it is not much smaller`() throws {
        for (width, height, format) in [
            (501, 200, #""avif","quality":50"#), (500, 201, #""avif","quality":50"#),
            (384, 154, #""jpeg","quality":95"#), (251, 100, #""png""#), (1000, 400, #""png""#),
            (384, 153, #""auto","formats":["jpeg","png"],"ssim":0.9,"quality":95"#),
        ] {
            let large = #"\#(stretched(width, height)),"format":\#(format)"#
            let plan = try plan(header(4000, 3000), stretched(1000, 400), large)
            #expect(plan.chroma == .full, "\(width)×\(height) \(format)")
        }
        // A part is cut from every pixel, and a border is searched in them.
        let crop = #""transform":[{"type":"crop","x":0,"y":0,"width":5,"height":5}],"format":"png""#
        #expect(try plan(header(4000, 3000), stretched(1000, 400), crop).chroma == .full)
        let trim = #""trim":{},"thumbnail":{"width":10,"height":10}"#
        #expect(try plan(header(4000, 3000), stretched(1000, 400), trim).chroma == .full)
    }

    @Test func `a variant has full chroma where one drawn from it, also through others, needs that`() throws {
        let card = #""thumbnail":{"width":1024,"height":1024}"#
        let list = #""thumbnail":{"width":400,"height":400},"format":"webp""#
        func chroma(_ plan: DecodePlan) throws -> [PlanarImage.Chroma] {
            try [plan.chroma] + plan.outputs.map { try $0.get().chroma }
        }
        // 214×160 from 400×300, which is drawn from 1024×768.
        let avatar = try plan(header(4000, 3000), card, list, #"\#(fit(160)),"format":"png""#)
        #expect(try output(avatar, 2).start == .output(1))
        #expect(try output(avatar, 1).start == .output(0))
        #expect(try chroma(avatar) == [.subsampled420, .subsampled420, .full, .full])
        // 320×240 is more than a quarter of each of them.
        let larger = try plan(
            header(4000, 3000), card, #""thumbnail":{"width":600,"height":600}"#, #"\#(fit(240)),"format":"png""#)
        #expect(try output(larger, 2).start == .output(1))
        #expect(try output(larger, 1).start == .output(0))
        #expect(try chroma(larger) == [.full, .full, .full, .full])
        // The same pixels as the list's.
        let next = list.replacing("webp", with: "avif")
        let modern = try plan(header(4000, 3000), card, list, #"\#(next),"quality":50,"keySuffix":"a""#)
        #expect(try chroma(modern) == [.subsampled420, .subsampled420, .full, .full])
    }

    @Test func `a variant that keeps the profile starts from its own decoding`() throws {
        var wide = header(400, 300)
        wide.hasOwnProfile = true
        let plan = try plan(wide, #""keySuffix":"a","keepICC":true"#, #""keySuffix":"b""#)
        #expect(try output(plan, 0).start == .ownProfile)
        #expect(try output(plan, 1).start == .base)
        #expect(try self.plan(header(400, 300), #""keySuffix":"a","keepICC":true"#).outputs[0].get().start == .base)
    }

    @Test func `the plan has the transparency of the result`() throws {
        let alpha = { (transform: String) in
            try self.output(self.plan(self.header(400, 300), #""transform":[\#(transform)]"#), 0).drawing.hasAlpha
        }
        #expect(try !alpha(#"{"type":"flip","vertical":true}"#))
        #expect(try !alpha(#"{"type":"blur","radius":3}"#))
        #expect(try alpha(#"{"type":"rotate","angle":0.3}"#))
        #expect(try alpha(#"{"type":"roundCorner","radius":3}"#))
        #expect(try !alpha(##"{"type":"tint","color":"#ff000000"}"##))
        #expect(try alpha(##"{"type":"tint","color":"#80000000"}"##))
        #expect(try !alpha(##"{"type":"tint","color":"#80000000","blendMode":"multiply"}"##))
        #expect(try alpha(##"{"type":"tint","color":"#ff000000","blendMode":"clear"}"##))
    }

    @Test func `estimates grow with the work`() throws {
        let one = try plan(header(4000, 3000), fit(300)),
            same = try plan(header(4000, 3000), fit(300), #"\#(fit(300)),"keySuffix":"b""#)
        let more = try plan(header(4000, 3000), fit(300), fit(1000)),
            costly = try plan(header(4000, 3000), #"\#(fit(300)),"format":"heic""#)
        #expect(one.processorTime == same.processorTime)
        #expect(more.processorTime > one.processorTime)
        #expect(costly.processorTime > one.processorTime)
        #expect(more.memoryBytes > one.memoryBytes)
        var animation = header(400, 300, .gif)
        animation.frames = 50
        let frames = try plan(animation, #""animation":"frames""#), first = try plan(animation, #""keySuffix":"a""#)
        #expect(frames.frames == 50)
        #expect(first.frames == 1)
        #expect(frames.memoryBytes > 10 * first.memoryBytes)
        #expect(frames.processorTime > first.processorTime * 10)
    }

    private let every = #""animation":"frames""#
    private let small = #""thumbnail":{"width":160,"height":160},"animation":"frames""#

    @Test func `a variant that would take far longer than the limit is refused, and the others are planned`() throws {
        var animation = header(2000, 2000, .gif)
        animation.frames = 25
        let plan = try plan(animation, every, small, #"\#(every),"keySuffix":"twin""#)
        for number in [0, 2] {
            let error = #expect(throws: TranscodeError.self) { try plan.outputs[number].get() }
            #expect(error?.code == .time)
            #expect(error?.message.contains("the variant may need") == true)
        }
        #expect(try output(plan, 1).drawing.size == PixelSize(width: 160, height: 160))
        #expect(plan.base == PixelSize(width: 160, height: 160))
        #expect(plan.frames == 25)
        #expect(plan.order == [1])
        #expect(plan.processorTime < .seconds(10))
    }

    @Test func `the frames of a PNG are limited in pixels and time, for the variants that have them`() throws {
        var animation = header(1000, 1000, .png)
        animation.frames = 101
        let large = try plan(animation, small, #""thumbnail":{"width":160,"height":160}"#)
        #expect(#expect(throws: TranscodeError.self) { try large.outputs[0].get() }?.code == .frames)
        #expect(throws: Never.self) { try large.outputs[1].get() }
        animation = header(8, 8, .png)
        animation.frames = SourceHeader.frameLimit + 1
        let many = try plan(animation, small, #""thumbnail":{"width":160,"height":160}"#)
        let error = #expect(throws: TranscodeError.self) { try many.outputs[0].get() }
        #expect(error?.code == .frames)
        #expect(error?.message == "the image has 10001 frames; the limit is 10000")
        #expect(throws: Never.self) { try many.outputs[1].get() }
        // 96 megapixels are within the limit of 100, and take too long to write as a GIF.
        animation = header(2000, 2000, .png)
        animation.frames = 24
        let slow = try plan(animation, #"\#(every),"format":"gif""#, #""thumbnail":{"width":160,"height":160}"#)
        #expect(#expect(throws: TranscodeError.self) { try slow.outputs[0].get() }?.code == .time)
        #expect(throws: Never.self) { try slow.outputs[1].get() }
    }

    @Test func `the thumbnail of a GIF of 300 frames is planned`() throws {
        var animation = header(480, 270, .gif)
        animation.frames = 300
        let plan = try plan(animation, small)
        #expect(throws: Never.self) { try plan.outputs[0].get() }
        #expect(plan.processorTime < TranscodeLimits().softTime)
    }

    @Test func `estimates allow for the slowest files of a format`() throws {
        let heic = try plan(header(4000, 3000, .heic), #""format":"jpeg""#)
        #expect(heic.decodingTime > .seconds(2))
        #expect(heic.decodingTime < .seconds(3))
        // Decoding, and the variant's own time with a margin.
        #expect(heic.processorTime < heic.decodingTime + heic.outputTimes[0])
        let two = try plan(header(4000, 3000, .heic), #""thumbnail":{"width":2300,"height":1725}"#, "")
        #expect(two.outputTimes[0] > .seconds(11))
        #expect(two.outputTimes[0] < .seconds(20))
        // 12 megapixels are more than HEIC is written with.
        #expect(try output(two, 1).encoding.format == .jpeg)
        #expect(try output(two, 1).encoding.replaced == .heic)
    }

    @Test func `an estimate must fit into the rest of the hard limit`() throws {
        let limits = TranscodeLimits()
        #expect(throws: Never.self) { try limits.checkTime(.seconds(30), "decoding") }
        #expect(throws: Never.self) { try limits.checkTime(.seconds(10), "decoding", spent: .seconds(20)) }
        let error = #expect(throws: TranscodeError.self) {
            try limits.checkTime(.seconds(11), "the variant", spent: .milliseconds(19_500))
        }
        #expect(error?.code == .time)
        #expect(
            error?.message
                == "the variant may need 11 s of processor time after 20 s; the limit is 30.0 seconds")
    }

    @Test func `errors have the domains of the documented table`() {
        #expect(TranscodeError(.undecodable, "").domain == "SDWebImageErrorDomain")
        #expect(TranscodeError(.cancelled, "").domain == "SDWebImageErrorDomain")
        for code in [TranscodeError.Code.pixels, .edge, .frames, .memory, .time, .died, .transform, .encode, .store] {
            #expect(TranscodeError(code, "").domain == "LarderErrorDomain")
        }
    }
}
