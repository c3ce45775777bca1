/// Spans waiting to be sent, limited by number and bytes. Further ones are dropped and counted.
package struct SpanBuffer: Sendable {
    /// Limits of the buffer and of one request.
    package struct Limits: Sendable, Equatable {
        /// Waiting spans, `2,048`.
        package var spans = 2_048
        /// Their bytes, about `4 MiB`.
        package var bytes = 4 << 20
        /// Spans per request, `512`.
        package var batchSpans = 512
        /// Bytes per request, about `1 MiB`; a single span may have more.
        package var batchBytes = 1 << 20

        package init() {}
    }

    private let limits: Limits
    private var waiting: [Span] = []
    private var bytes = 0
    /// Spans that were never sent.
    package private(set) var dropped = 0

    package init(_ limits: Limits = Limits()) { self.limits = limits }

    package var isEmpty: Bool { waiting.isEmpty }

    /// Whether there is enough for a full request.
    package var hasBatch: Bool { waiting.count >= limits.batchSpans || bytes >= limits.batchBytes }

    /// Adds one attempt's spans, or drops all of them.
    package mutating func add(_ spans: [Span]) {
        let size = spans.reduce(0) { $0 + $1.size }
        guard waiting.count + spans.count <= limits.spans, bytes + size <= limits.bytes else {
            return drop(spans.count)
        }
        waiting += spans
        bytes += size
    }

    /// The oldest spans, as many as one request may have.
    package mutating func takeBatch() -> [Span] {
        var size = 0
        let batch = waiting.prefix(limits.batchSpans).prefix { span in
            size += span.size
            return size <= limits.batchBytes
        }
        let count = max(batch.count, min(1, waiting.count))
        let taken = Array(waiting.prefix(count))
        waiting.removeFirst(count)
        bytes -= taken.reduce(0) { $0 + $1.size }
        return taken
    }

    /// Counts spans that were taken but not accepted.
    package mutating func drop(_ count: Int) { dropped += count }
}
