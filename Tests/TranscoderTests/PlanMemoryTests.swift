import Testing

@testable import Codecs
@testable import ImageModel
@testable import Transcoder

/// Variants that are refused because they need too much memory.
@Suite(.timeLimit(.minutes(1)))
struct PlanMemoryTests {
    private let thumbnail = #""thumbnail":{"width":160,"height":160}"#

    private func plan(
        _ header: SourceHeader, _ variants: String..., limits: TranscodeLimits = TranscodeLimits()
    ) throws -> DecodePlan {
        let parsed = try variants.enumerated().map { try Variant(json: #"{"name":"v\#($0)",\#($1)}"#.utf8) }
        return DecodePlan(header, variants: parsed, scale: 1, limits: limits, writable: [.jpeg, .png, .webp, .jxl])
    }

    private func refusal(_ plan: DecodePlan, _ number: Int) -> TranscodeError? {
        guard case .failure(let error) = plan.outputs[number] else { return nil }
        return error
    }

    @Test func `a variant that needs more memory than the limit is refused, and the others are planned`() throws {
        let photo = SourceHeader(format: .jpeg, width: 6000, height: 4000)
        let plan = try plan(photo, thumbnail, #""format":"jxl""#, #""format":"jxl","keySuffix":"twin""#)
        for number in [1, 2] {
            #expect(refusal(plan, number)?.code == .memory)
            #expect(refusal(plan, number)?.message.hasPrefix("the variant needs about ") == true)
        }
        #expect(refusal(plan, 0) == nil)
        #expect(plan.order == [0])
        #expect(plan.encodingOrder == [0])
        #expect(plan.base == PixelSize(width: 160, height: 107))
        #expect(plan.shrink == 8)
        #expect(plan.memoryBytes < TranscodeLimits().memoryBytes)
    }

    @Test func `variants that fit one by one and not together are refused until the others fit`() throws {
        let image = SourceHeader(format: .png, width: 2000, height: 2000)
        // The second has the pixels of the first, which are held meanwhile.
        let box = #""thumbnail":{"width":1500,"height":1500}"#
        let one = #"\#(box),"format":"webp""#, other = #"\#(box),"format":"jpeg""#
        let together = try plan(image, one, other), alone = try plan(image, one)
        #expect(together.memoryBytes > alone.memoryBytes)
        var limits = TranscodeLimits()
        limits.memoryBytes = together.memoryBytes - 1
        let limited = try plan(image, one, other, limits: limits)
        let refusals = [0, 1].compactMap { refusal(limited, $0) }
        #expect(refusals.map(\.code) == [.memory])
        #expect(refusals.first?.message.hasPrefix("the variants together need about ") == true)
        #expect(limited.order.count == 1)
        #expect(limited.memoryBytes <= limits.memoryBytes)
    }

    @Test func `where decoding alone needs too much, every variant is refused and the plan says so`() throws {
        var progressive = SourceHeader(format: .jpeg, width: 6000, height: 6000)
        progressive.isInterlaced = true
        var limits = TranscodeLimits()
        limits.memoryBytes = 64 << 20
        let plan = try plan(progressive, thumbnail, limits: limits)
        #expect(refusal(plan, 0)?.code == .memory)
        #expect(plan.order.isEmpty)
        #expect(throws: TranscodeError.self) { try limits.checkMemory(plan.memoryBytes) }
    }
}
