import Testing

@testable import Telemetry

@Suite(.timeLimit(.minutes(1)))
struct TraceContextTests {
    private let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    private static let others = [
        "", "00", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more",
        "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-" + String(repeating: "x", count: 500),
    ]

    @Test func `a traceparent is read and written`() throws {
        let context = try #require(TraceContext(traceparent: text))
        #expect(context.traceID == "4bf92f3577b34da6a3ce929d0e0e4736")
        #expect(context.spanID == "00f067aa0ba902b7")
        #expect(context.isSampled)
        #expect(context.traceparent == text)
        #expect(try !#require(TraceContext(traceparent: text.dropLast(2) + "00")).isSampled)
    }

    @Test func `a later version may have more fields, which are left out`() throws {
        let later = try #require(TraceContext(traceparent: "cc" + text.dropFirst(2) + "-what-comes"))
        #expect(later.traceparent == text)
    }

    @Test(arguments: others) func `any other text is no traceparent`(text: String) {
        #expect(TraceContext(traceparent: text) == nil)
    }

    @Test func `a child has another span in the same trace`() {
        let root = TraceContext.root(isSampled: true)
        let child = root.child()
        #expect(child.trace == root.trace)
        #expect(child.span != root.span)
        #expect(child.isSampled)
        #expect(TraceContext(traceparent: root.traceparent) == root)
        #expect(!TraceContext.root(isSampled: false).isSampled)
    }

    @Test func `a producer's trace is recorded as it says, and others by the ratio`() throws {
        let sampled = try #require(TraceContext(traceparent: text))
        let other = try #require(TraceContext(traceparent: text.dropLast() + "0"))
        let nothing = Sampler(ratio: 0), everything = Sampler(ratio: 1)
        #expect(nothing.records(sampled))
        #expect(!everything.records(other))
        #expect(!Sampler(ratio: 0, followsParent: false).records(sampled))
        #expect(!nothing.records(TraceContext.root(isSampled: true).trace))
        #expect(everything.records(TraceContext.root(isSampled: true).trace))
        let half = Sampler(ratio: 0.5)
        let recorded = (0..<1_000).count { _ in half.records(TraceContext.root(isSampled: true).trace) }
        #expect((300...700).contains(recorded))
    }

    @Test func `a sampler has OpenTelemetry's names`() {
        #expect(Sampler(name: "parentbased_always_on", argument: nil) == Sampler())
        #expect(Sampler(name: "always_off", argument: nil) == Sampler(ratio: 0, followsParent: false))
        #expect(Sampler(name: "parentbased_traceidratio", argument: "0.25") == Sampler(ratio: 0.25))
        #expect(Sampler(name: "traceidratio", argument: "2") == nil)
        #expect(Sampler(name: "traceidratio", argument: "many") == nil)
        #expect(Sampler(name: "jaeger_remote", argument: nil) == nil)
    }
}
