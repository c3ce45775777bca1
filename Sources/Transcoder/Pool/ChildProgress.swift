internal import ImageModel

/// What a child has done of its current request, as far as it has said so.
struct ChildProgress {
    /// Set once the image is decoded.
    var header: SourceHeader? { didSet { times.decoded = .now } }
    private var times = TranscodeTimes()
    /// For each variant, nil until it is finished.
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

    /// The reply of a child, with what it has said before: the header, and the outcomes unless the reply replaces them.
    func completed(_ reply: ChildReply) -> ChildReply {
        var reply = reply
        reply.header = reply.header ?? header
        if reply.outcomes.isEmpty { reply.outcomes = outcomes.compactMap(\.self) }
        reply.times = times
        return reply
    }

    /// The reply for a child that was lost after it had decoded the image: what it finished, and the error for the
    /// other variants. Nil when it was lost before; the error is then the image's.
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
