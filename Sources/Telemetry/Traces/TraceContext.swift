internal import ImageModel

/// A span in its trace, as in W3C Trace Context's header `traceparent`.
package struct TraceContext: Sendable, Hashable {
    /// Never 0.
    package let trace: UInt128
    /// Never 0.
    package let span: UInt64
    /// Bit 0: the caller records the trace. Bit 1: its id is random.
    package let flags: UInt8

    private static let sampled: UInt8 = 1
    private static let random: UInt8 = 2
    /// A later version may append fields; longer texts are refused.
    private static let mostBytes = 512

    /// Whether the trace is recorded.
    package var isSampled: Bool { flags & Self.sampled != 0 }

    package init(trace: UInt128, span: UInt64, flags: UInt8) {
        (self.trace, self.span, self.flags) = (trace, span, flags)
    }

    /// Parses version 00, or a later version, ignoring its further fields; nil if invalid.
    package init?(traceparent: String) {
        let bytes = Array(traceparent.utf8)
        guard (55...Self.mostBytes).contains(bytes.count), [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
            let version: UInt8 = Self.number(bytes[..<2]), version != .max,
            bytes.count == 55 || version > 0 && bytes[55] == UInt8(ascii: "-"),
            let trace: UInt128 = Self.number(bytes[3..<35]), trace != 0,
            let span: UInt64 = Self.number(bytes[36..<52]), span != 0,
            let flags: UInt8 = Self.number(bytes[53..<55])
        else { return nil }
        self.init(trace: trace, span: span, flags: flags & (Self.sampled | Self.random))
    }

    /// The first span of a new trace.
    package static func root(isSampled: Bool) -> TraceContext {
        TraceContext(
            trace: .random(in: 1 ... .max), span: newSpan(), flags: random | (isSampled ? sampled : 0))
    }

    /// Another span of the same trace.
    package func child() -> TraceContext { TraceContext(trace: trace, span: Self.newSpan(), flags: flags) }

    private static func newSpan() -> UInt64 { .random(in: 1 ... .max) }

    /// In version 00.
    package var traceparent: String { "00-\(traceID)-\(spanID)-\(flags.hexadecimal(digits: 2))" }

    /// 32 hexadecimal digits.
    package var traceID: String { trace.hexadecimal(digits: 32) }

    /// 16 hexadecimal digits.
    package var spanID: String { span.hexadecimal(digits: 16) }

    /// Lower-case hexadecimal digits; nil for any other byte.
    private static func number<Number: FixedWidthInteger>(_ digits: ArraySlice<UInt8>) -> Number? {
        var value: Number = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | Number(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | Number(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return value
    }
}
