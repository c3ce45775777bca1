internal import ImageModel

/// A child's reported progress with its current request.
struct ChildProgress {
    /// Set once the image is decoded.
    var header: SourceHeader? { didSet { times.decoded = .now } }
    private var times = TranscodeTimes()
    /// By variant; nil until finished.
    private var outcomes: [ChildReply.Outcome?]

    init(variants: Int) {
        outcomes = Array(repeating: nil, count: variants)
        times.finished = Array(repeating: nil, count: variants)
    }

    mutating func finish(_ variant: Int, _ outcome: ChildReply.Outcome) {
        guard outcomes.indices.contains(variant) else { return }
        outcomes[variant] = outcome
        times.finished[variant] = .now
    }

    /// The child's reply, completed with its earlier messages: the header, and the results unless the reply replaces
    /// them.
    func completed(_ reply: ChildReply) -> ChildReply {
        var reply = reply
        reply.header = reply.header ?? header
        if reply.outcomes.isEmpty { reply.outcomes = outcomes.compactMap(\.self) }
        reply.times = times
        return reply
    }

    /// The reply for a child lost after decoding: its finished variants, and the error for the others. Nil if it was
    /// lost before, since the error is then the image's.
    ///
    /// A variant's error blocks no URL, because another variant of the image may be possible.
    func reply(after error: TranscodeError) -> ChildReply? {
        guard let header else { return nil }
        var reply = ChildReply()
        reply.header = header
        reply.outcomes = outcomes.map { $0 ?? .failed(error) }
        reply.times = times
        return reply
    }
}
