internal import Glibc

/// A piece of work in a trace. Times are since 1970.
package struct Span: Sendable, Equatable {
    package enum Value: Sendable, Equatable {
        case text(String)
        case integer(Int)
        case number(Double)
        case flag(Bool)
    }

    /// A span's relation to other programs' spans, with OTLP's numbers.
    package enum Kind: Int, Sendable {
        case `internal` = 1
        case client = 3
        /// Work that another program has queued.
        case consumer = 5
    }

    /// In order, each name once.
    package typealias Attributes = [(name: String, value: Value)]

    package let context: TraceContext
    /// The parent span in the same trace; nil for the first one.
    package let parent: UInt64?
    package let name: String
    package var kind = Kind.internal
    package var start: Duration
    package var end: Duration
    package var attributes: Attributes = []
    /// Related spans in other traces.
    package var links: [TraceContext] = []
    /// Why it failed; nil if it succeeded.
    package var error: String?

    package init(_ name: String, _ context: TraceContext, parent: UInt64?, start: Duration, end: Duration) {
        (self.name, self.context, self.parent) = (name, context, parent)
        (self.start, self.end) = (start, max(start, end))
    }

    package static func == (a: Span, b: Span) -> Bool {
        a.context == b.context && a.parent == b.parent && a.name == b.name && a.kind == b.kind && a.start == b.start
            && a.end == b.end && a.links == b.links && a.error == b.error
            && a.attributes.elementsEqual(b.attributes) { $0.name == $1.name && $0.value == $1.value }
    }

    /// Its approximate bytes in a request.
    var size: Int {
        300 + name.utf8.count + (error?.utf8.count ?? 0) + 100 * links.count
            + attributes.reduce(0) { $0 + 50 + $1.name.utf8.count + $1.value.size }
    }
}

extension Span.Value {
    fileprivate var size: Int { if case .text(let text) = self { text.utf8.count } else { 20 } }
}

/// Converts this process's instants to the time of day.
package struct WallClock: Sendable {
    private let instant = ContinuousClock.now
    /// The time at which it was made, since 1970.
    package let now: Duration

    package init() {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        now = .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }

    /// Since 1970.
    package func time(of instant: ContinuousClock.Instant) -> Duration { now - (self.instant - instant) }
}
