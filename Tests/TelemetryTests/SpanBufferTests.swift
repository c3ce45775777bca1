import Testing

@testable import Telemetry

@Suite(.timeLimit(.minutes(1)))
struct SpanBufferTests {
    private func spans(_ count: Int, text: String = "") -> [Span] {
        let root = TraceContext.root(isSampled: true)
        return (0..<count).map { number in
            var span = Span("\(number)", root.child(), parent: root.span, start: .zero, end: .seconds(1))
            span.attributes = [("text", .text(text))]
            return span
        }
    }

    private func limits(spans: Int = 10, bytes: Int = 1 << 20, batchSpans: Int = 4) -> SpanBuffer.Limits {
        var limits = SpanBuffer.Limits()
        (limits.spans, limits.bytes, limits.batchSpans) = (spans, bytes, batchSpans)
        return limits
    }

    @Test func `batches have the oldest spans and at most so many`() {
        var buffer = SpanBuffer(limits())
        buffer.add(spans(3))
        #expect(!buffer.hasBatch)
        buffer.add(spans(3))
        #expect(buffer.hasBatch)
        #expect(buffer.takeBatch().map(\.name) == ["0", "1", "2", "0"])
        #expect(buffer.takeBatch().map(\.name) == ["1", "2"])
        #expect(buffer.takeBatch().isEmpty)
        #expect(buffer.isEmpty)
        #expect(buffer.dropped == 0)
    }

    @Test func `what exceeds the number of spans is dropped as a whole and counted`() {
        var buffer = SpanBuffer(limits(spans: 5))
        buffer.add(spans(3))
        buffer.add(spans(3))
        #expect(buffer.dropped == 3)
        buffer.add(spans(2))
        #expect(buffer.dropped == 3)
        #expect(buffer.takeBatch().count == 4)
        buffer.drop(4)
        #expect(buffer.dropped == 7)
    }

    @Test func `what exceeds the bytes is dropped, and there is room again after a batch`() {
        var buffer = SpanBuffer(limits(bytes: 3_000))
        let text = String(repeating: "x", count: 2_000)
        buffer.add(spans(1, text: text))
        buffer.add(spans(1, text: text))
        #expect(buffer.dropped == 1)
        #expect(buffer.takeBatch().count == 1)
        buffer.add(spans(1, text: text))
        #expect(buffer.dropped == 1)
    }

    @Test func `a batch ends at its bytes, and a single span may exceed them`() {
        var limits = limits()
        limits.batchBytes = 1_000
        var buffer = SpanBuffer(limits)
        buffer.add(spans(3, text: String(repeating: "x", count: 300)))
        buffer.add(spans(1, text: String(repeating: "x", count: 5_000)))
        #expect(buffer.hasBatch)
        #expect(buffer.takeBatch().count == 1)
        #expect(buffer.takeBatch().count == 1)
        #expect(buffer.takeBatch().count == 1)
        #expect(buffer.takeBatch().count == 1)
        #expect(buffer.isEmpty)
    }
}
