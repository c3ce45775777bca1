private import Concurrency

extension PostgresJobQueue.Producer {
    /// Enqueues up to 10,000 URLs in one transaction; one answer per URL, in order.
    ///
    /// Not repeated if the connection breaks (`.connectionLost`), because items could count twice. Throws
    /// `.batchClosed`, `.unknownPipeline`, `.unknownQueue`, `.unknownBatch`, `.invalidArgument`, and `.sourceMoved` if
    /// the number of enqueued URLs of `request.source` differs from the request's.
    public func enqueue(_ request: EnqueueRequest) async throws(QueueError) -> [EnqueueAnswer] {
        let count = request.urls.count
        guard count <= EnqueueRequest.maxURLs else {
            throw QueueError(.invalidArgument, "at most \(EnqueueRequest.maxURLs) URLs a call, not \(count)")
        }
        let (statement, parameters) = request.isPlain ? request.plainCall : try request.listCall
        return try await database.ask(statement, parameters, repeating: .onlyUndone) { rows throws(QueueError) in
            guard rows.count == count else {
                throw QueueError(.unexpectedAnswer, "\(rows.count) answers to \(count) URLs")
            }
            var answers: [EnqueueAnswer] = []
            answers.reserveCapacity(count)
            for row in 0..<count {
                guard let kind = rows.text(row, 0).flatMap(EnqueueAnswer.Kind.init(rawValue:)) else {
                    throw QueueError(.unexpectedAnswer, "enqueue answered \(rows.text(row, 0) ?? "nothing")")
                }
                answers.append(
                    EnqueueAnswer(kind: kind, job: rows.integer(row, 1), error: rows.failure(row, domainAt: 2)))
            }
            return answers
        }
    }

    /// Enqueued URLs of the list `source` in a batch, and the first 8,192 characters of the last one; nil before the
    /// list's start and after its end.
    public func sourceProgress(
        _ source: String, batch: Int64
    ) async throws(QueueError) -> (urls: Int, lastURL: String)? {
        try await database.read(
            "SELECT urls, last_url FROM larder.batch_source($1, $2)", [.text(String(batch)), .text(source)]
        ) { rows throws(QueueError) in
            guard rows.count == 1, let urls = rows.integer(0, 0) else { return nil }
            return (Int(urls), rows.text(0, 1) ?? "")
        }
    }

    /// Ends the list `source`; the same name then begins a new list.
    public func endSource(_ source: String, batch: Int64) async throws(QueueError) {
        try await database.ask("SELECT larder.batch_source_end($1, $2)", [.text(String(batch)), .text(source)]) {
            _ throws(QueueError) in
        }
    }
}

extension EnqueueRequest.Start {
    /// The SQL expression for the start time; `parameter` is `milliseconds`.
    func sql(_ parameter: String) -> String {
        switch self {
        case .now, .after: "now() + \(parameter)::float8 * interval '1 ms'"
        case .at: "to_timestamp(\(parameter) / 1000.0)"
        }
    }

    var milliseconds: Int64? {
        switch self {
        case .now: nil
        case .after(let delay): delay.milliseconds
        case .at(let seconds): Int64(clampingToMilliseconds: seconds)
        }
    }
}

extension Int64 {
    /// Seconds as milliseconds, clamped to the range of Postgres' timestamps.
    init(clampingToMilliseconds seconds: Double) {
        let bound = 9.0e12  // 287,000 years
        self = seconds.isNaN ? 0 : Int64(Swift.max(-bound, Swift.min(bound, seconds)) * 1_000)
    }
}
