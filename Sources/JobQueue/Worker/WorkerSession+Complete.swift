internal import ImageModel

extension WorkerSession {
    /// Records outcomes, all in one transaction, and tells what was decided, one completion per outcome, in order.
    ///
    /// At most one outcome per claim and call (else `.invalidArgument`). Idempotent: outcomes may be sent again when the
    /// answer was lost, and are, for the configured patience. A job that an enqueue is just joining, in a transaction
    /// that may stay open, is answered `.busy` and nothing of it is recorded; the others do not wait for it.
    public func complete(_ outcomes: [Outcome]) async throws(QueueError) -> [CompletionResult] {
        guard !outcomes.isEmpty else { return [] }
        let statement = Statement(completing: outcomes, of: id)
        return try await queue.ask(statement.sql, statement.parameters) { rows throws(QueueError) in
            try rows.completions(of: outcomes)
        }
    }
}

extension Statement {
    /// The complete of these outcomes of a worker, one at least.
    init(completing outcomes: [Outcome], of worker: Int64) {
        func integers(_ value: (Outcome) -> Int?) -> Parameter {
            .optionalIntegers(outcomes.map { value($0).map { Int64(Int32(clamping: $0)) } })
        }
        func milliseconds(_ value: (Outcome) -> Duration) -> Parameter {
            integers { Int(clamping: value($0).milliseconds).nonZero }
        }
        parameters = [
            .integer(worker), .integers(outcomes.map(\.claim.job)), .integers(outcomes.map(\.claim.number)),
            .texts(outcomes.map(\.result.name)), .optionalTexts(outcomes.map { $0.result.reason?.domain }),
            integers { $0.result.reason?.code }, .optionalTexts(outcomes.map { $0.result.reason?.message }),
            integers(\.httpStatus), .optionalIntegers(outcomes.map { $0.result.retryAfter?.milliseconds }),
            .optionalIntegers(outcomes.map { $0.bytesIn.nonZero.map(Int64.init) }),
            .optionalIntegers(outcomes.map { $0.bytesOut.nonZero.map(Int64.init) }),
            integers { Int(Int16(clamping: $0.downloads)).nonZero },
            integers { Int(Int16(clamping: $0.variants)).nonZero },
            milliseconds(\.waiting), milliseconds(\.fetching), milliseconds(\.transcoding), milliseconds(\.storing),
            .optionalTexts(outcomes.map(\.storedJSON)),
        ]
        sql = """
            SELECT job_id, claim_no, decision, delay_ms, domain, code, message
            FROM larder.complete_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18::json[])
            """
    }
}

extension Rows {
    /// What was decided about each outcome, in their order; the answers come in any.
    func completions(of outcomes: [Outcome]) throws(QueueError) -> [CompletionResult] {
        guard count == outcomes.count else {
            throw QueueError(.unexpectedAnswer, "\(count) decisions on \(outcomes.count) outcomes")
        }
        var decided: [Claim: CompletionResult.Decision] = [:]
        decided.reserveCapacity(count)
        for row in 0..<count {
            guard let job = integer(row, 0), let number = integer(row, 1) else { continue }
            decided[Claim(job: job, number: number)] = try decision(row)
        }
        return outcomes.map { CompletionResult(claim: $0.claim, decision: decided[$0.claim] ?? .stale) }
    }

    private func decision(_ row: Int) throws(QueueError) -> CompletionResult.Decision {
        switch text(row, 2) {
        case "succeeded": .succeeded
        case "retried": .retried(after: .milliseconds(integer(row, 3) ?? 0))
        case "cancelled": .cancelled
        case "stale": .stale
        case "failed": .failed(failure(row, domainAt: 4) ?? FailureReason(domain: "", code: 0, message: ""))
        case "busy": .busy
        default: throw QueueError(.unexpectedAnswer, "complete answered \(text(row, 2) ?? "nothing")")
        }
    }
}

extension Outcome.Result {
    /// The result as `larder.complete_v1` calls it.
    fileprivate var name: String {
        switch self {
        case .succeeded: "succeeded"
        case .failed: "failed"
        case .cancelled: "cancelled"
        }
    }

    fileprivate var reason: FailureReason? { if case .failed(let reason, _) = self { reason } else { nil } }

    fileprivate var retryAfter: Duration? { if case .failed(_, let delay) = self { delay } else { nil } }
}

extension Outcome {
    /// The record of the stored files; nil when there are none.
    fileprivate var storedJSON: String? {
        guard !stored.isEmpty else { return nil }
        var json = JSONText()
        json.array(stored) { $0.write($1) }
        return json.text
    }
}

extension Int {
    /// What is zero is not sent: the database has it as its default.
    fileprivate var nonZero: Int? { self == 0 ? nil : self }
}

extension JSONText {
    /// A stored file in the shape of its `Codable` form, which reads it back.
    fileprivate mutating func write(_ file: StoredFile) {
        object { json in
            json.add("name", file.name)
            json.add("key", file.key)
            json.add("path", file.path)
            json.add("bytes", file.bytes)
            json.add("format", file.format)
            json.add("width", file.width)
            json.add("height", file.height)
            json.add("sha256", file.sha256)
            json.add("robots", file.robots)
            json.add("replaced", file.replaced)
            json.add("exceedsMaxBytes", file.exceedsMaxBytes)
            json.add("unchanged", file.unchanged)
            json.add("origin", file.origin?.rawValue)
            if let digest = file.digest {
                json.member("digest")
                json.object { json in
                    json.add("thumbHash", digest.thumbHash)
                    json.add("averageColor", digest.averageColor)
                    json.add("dominantColor", digest.dominantColor)
                    json.add("perceptualHash", digest.perceptualHash)
                    json.add("hasAlpha", digest.hasAlpha)
                    json.add("frames", digest.frames)
                }
            }
            guard let error = file.error else { return }
            json.member("error")
            json.object { json in
                json.add("domain", error.domain)
                json.add("code", error.code)
                json.add("message", error.message)
            }
        }
    }
}
