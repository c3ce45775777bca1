extension WorkerSession {
    /// Records outcomes, all in one transaction, and tells what was decided, one settlement per outcome, in order.
    ///
    /// At most one outcome per claim and call (else `.invalidArgument`). Idempotent: outcomes may be sent again when the
    /// answer was lost, and are, for the configured patience. A job that an enqueue is just joining, in a transaction
    /// that may stay open, is answered `.busy` and nothing of it is recorded; the others do not wait for it.
    public func settle(_ outcomes: [Outcome]) async throws(QueueError) -> [Settlement] {
        guard !outcomes.isEmpty else { return [] }
        var decided: [Claim: Settlement.Decision] = [:]
        decided.reserveCapacity(outcomes.count)
        for settlement in try await send(outcomes) { decided[settlement.claim] = settlement.decision }
        return outcomes.map { Settlement(claim: $0.claim, decision: decided[$0.claim] ?? .stale) }
    }

    /// One call; its answers come in any order.
    private func send(_ outcomes: [Outcome]) async throws(QueueError) -> [Settlement] {
        var json = JSONText()
        json.array(outcomes) { $0.write($1) }
        return try await queue.ask(
            "SELECT job_id, claim_no, decision, delay_ms, domain, code, message FROM larder.complete_v1($1, $2::json)",
            [.integer(id), .text(json.text)]
        ) { rows throws(QueueError) in
            guard rows.count == outcomes.count else {
                throw QueueError(.unexpectedAnswer, "\(rows.count) decisions on \(outcomes.count) outcomes")
            }
            var settlements: [Settlement] = []
            settlements.reserveCapacity(rows.count)
            for row in 0..<rows.count {
                guard let job = rows.integer(row, 0), let number = rows.integer(row, 1) else { continue }
                let decision: Settlement.Decision
                switch rows.text(row, 2) {
                case "succeeded": decision = .succeeded
                case "retried": decision = .retried(after: .milliseconds(rows.integer(row, 3) ?? 0))
                case "cancelled": decision = .cancelled
                case "stale": decision = .stale
                case "failed":
                    decision = .failed(
                        rows.failure(row, domainAt: 4) ?? FailureReason(domain: "", code: 0, message: ""))
                case "busy": decision = .busy
                default: throw QueueError(.unexpectedAnswer, "settle answered \(rows.text(row, 2) ?? "nothing")")
                }
                settlements.append(Settlement(claim: Claim(job: job, number: number), decision: decision))
            }
            return settlements
        }
    }
}

extension JSONText {
    /// An outcome as `larder.complete_v1` reads it.
    fileprivate mutating func write(_ outcome: Outcome) {
        object { json in
            json.add("job", outcome.claim.job)
            json.add("claim", outcome.claim.number)
            switch outcome.result {
            case .succeeded: json.add("result", "succeeded")
            case .cancelled: json.add("result", "cancelled")
            case .failed(let reason, let retryAfter):
                json.add("result", "failed")
                json.add("domain", reason.domain)
                json.add("code", Int32(clamping: reason.code))
                json.add("message", reason.message)
                json.add("retry_after_ms", retryAfter?.milliseconds)
            }
            json.add("http_status", outcome.httpStatus.map { Int32(clamping: $0) })
            json.addUnlessZero("bytes_in", outcome.bytesIn)
            json.addUnlessZero("bytes_out", outcome.bytesOut)
            json.addUnlessZero("downloads", Int(Int16(clamping: outcome.downloads)))
            json.addUnlessZero("variants", Int(Int16(clamping: outcome.variants)))
            json.addUnlessZero("wait_ms", outcome.waiting.wholeMilliseconds)
            json.addUnlessZero("fetch_ms", outcome.fetching.wholeMilliseconds)
            json.addUnlessZero("transcode_ms", outcome.transcoding.wholeMilliseconds)
            json.addUnlessZero("store_ms", outcome.storing.wholeMilliseconds)
            guard !outcome.stored.isEmpty else { return }
            json.member("stored")
            json.array(outcome.stored) { $0.write($1) }
        }
    }

    /// A stored file in the shape of its `Codable` form, which reads it back.
    private mutating func write(_ file: StoredFile) {
        object { json in
            json.add("name", file.name)
            json.add("key", file.key)
            json.add("path", file.path)
            json.add("bytes", file.bytes)
            json.add("format", file.format)
            json.add("width", file.width)
            json.add("height", file.height)
            json.add("sha256", file.sha256)
            json.add("origin", file.origin?.rawValue)
            guard let error = file.error else { return }
            json.member("error")
            json.object { json in
                json.add("domain", error.domain)
                json.add("code", error.code)
                json.add("message", error.message)
            }
        }
    }

    private mutating func addUnlessZero(_ name: StaticString, _ value: Int) {
        if value != 0 { add(name, value) }
    }
}

extension Duration {
    /// Whole milliseconds that fit Postgres' int.
    fileprivate var wholeMilliseconds: Int { Int(Int32(clamping: milliseconds)) }
}
