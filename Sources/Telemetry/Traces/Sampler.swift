/// Decides which traces are recorded: as the producer says, else a share of them.
package struct Sampler: Sendable, Equatable {
    /// The share of traces beginning here, 0 to 1; `1` by default.
    package var ratio = 1.0
    /// Whether to follow a producer's decision instead of the ratio. `true` by default.
    package var followsParent = true

    package init(ratio: Double = 1, followsParent: Bool = true) {
        (self.ratio, self.followsParent) = (ratio, followsParent)
    }

    /// The sampler in `OTEL_TRACES_SAMPLER` and its `_ARG`; nil for an unknown name, or a ratio outside 0 to 1.
    package init?(name: String, argument: String?) {
        let prefix = "parentbased_"
        followsParent = name.hasPrefix(prefix)
        switch followsParent ? String(name.dropFirst(prefix.count)) : name {
        case "always_on": ratio = 1
        case "always_off": ratio = 0
        case "traceidratio":
            ratio = argument.map { Double($0) ?? -1 } ?? 1
            guard (0...1).contains(ratio) else { return nil }
        default: return nil
        }
    }

    /// Whether a producer's trace is recorded.
    package func records(_ parent: TraceContext) -> Bool { followsParent ? parent.isSampled : records(parent.trace) }

    /// Whether a trace beginning here is recorded. A trace gets the same answer everywhere.
    package func records(_ trace: UInt128) -> Bool {
        // The low 56 bits are random, as W3C Trace Context level 2 demands.
        Double(UInt64(truncatingIfNeeded: trace) & (1 << 56 - 1)) < ratio * 0x1p56
    }
}
