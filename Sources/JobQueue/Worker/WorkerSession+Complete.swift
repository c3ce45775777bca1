internal import Concurrency
public import ImageModel

extension WorkerSession {
    /// Records outcomes in one transaction and returns the decisions, in order.
    ///
    /// At most one outcome per claim and 1,000 per call (else `.invalidArgument`). Idempotent: outcomes whose answer
    /// was lost are sent again for at most the configured `maxWait`. A job locked by another transaction is answered
    /// `.busy` and not recorded; the others do not wait for it.
    public func complete(_ outcomes: [Outcome]) async throws(QueueError) -> [(claim: Claim, decision: Decision)] {
        guard !outcomes.isEmpty else { return [] }
        var json = JSONText()
        json.array(outcomes) { $0.write($1) }
        let completions = try await queue.ask(
            """
            SELECT job_id, claim_no, decision, delay_ms, domain, code, message FROM larder.complete_v1($1, $2::json)
            """, [.integer(id), .text(json.text)], cancellation: .never
        ) { rows throws(QueueError) in try rows.completions(of: outcomes) }
        claims.withLock { $0.end(completions.lazy.filter { $0.decision != .busy }.map(\.claim)) }
        return completions
    }

    /// Gives jobs back until later, at most an hour, because their origin is paused. The attempt is refunded. Claims no
    /// longer held are ignored.
    public func snooze(_ jobs: [(claim: Claim, delay: Duration)]) async throws(QueueError) {
        guard !jobs.isEmpty else { return }
        try await queue.ask(
            "SELECT larder.snooze_v1($1, $2, $3, $4)",
            [
                .integer(id), .integers(jobs.map(\.claim.job)), .integers(jobs.map(\.claim.number)),
                .integers(jobs.map(\.delay.milliseconds)),
            ], cancellation: .never
        ) { _ throws(QueueError) in }
        claims.withLock { $0.end(jobs.lazy.map(\.claim)) }
    }

    /// Gives up a claim that cannot be completed: heartbeats no longer name it, so its job is rescued.
    package func forget(_ claim: Claim) { claims.withLock { $0.end([claim]) } }
}

extension Rows {
    /// The decisions in the order of the outcomes; rows come in any order.
    fileprivate func completions(of outcomes: [Outcome]) throws(QueueError) -> [(claim: Claim, decision: Decision)] {
        guard count == outcomes.count else {
            throw QueueError(.unexpectedAnswer, "\(count) decisions on \(outcomes.count) outcomes")
        }
        var decided: [Claim: Decision] = [:]
        decided.reserveCapacity(count)
        for row in 0..<count {
            guard let job = integer(row, 0), let number = integer(row, 1) else { continue }
            decided[Claim(job: job, number: number)] = try decision(row)
        }
        return outcomes.map { ($0.claim, decided[$0.claim] ?? .stale) }
    }

    private func decision(_ row: Int) throws(QueueError) -> Decision {
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

extension JSONText {
    /// An outcome as an element of `larder.complete_v1`, clamped to its columns' ranges, without zeros.
    fileprivate mutating func write(_ outcome: Outcome) {
        // 0 for a stage below one millisecond, nil for a stage that was not reached.
        func milliseconds(_ duration: Duration) -> Int32? {
            duration > .zero ? Int32(clamping: duration.milliseconds) : nil
        }
        object { json in
            json.add("job", outcome.claim.job)
            json.add("claim", outcome.claim.number)
            switch outcome.result {
            case .succeeded: json.add("result", "succeeded")
            case .cancelled: json.add("result", "cancelled")
            case .failed(let reason, let retryAfter):
                json.add("result", "failed")
                json.write(reason)
                if !reason.countsTowardPoison { json.add("poison", false) }
                if reason.isRefusedFormat { json.add("blocks", false) }
                json.add("worker_limit", outcome.workerLimit)
                json.add("retry_after_ms", retryAfter?.milliseconds)
            }
            if outcome.unblocks { json.add("unblocks", true) }
            json.add("http_status", outcome.httpStatus.map(Int32.init(clamping:)))
            json.add("bytes_in", outcome.bytesIn.nonZero)
            json.add("bytes_out", outcome.bytesOut.nonZero)
            json.add("downloads", Int16(clamping: outcome.downloads).nonZero)
            json.add("variants", Int16(clamping: outcome.variants).nonZero)
            json.add("wait_ms", milliseconds(outcome.waiting))
            json.add("connection_wait_ms", milliseconds(outcome.waitingForConnection))
            json.add("dns_ms", milliseconds(outcome.waitingForNames))
            json.add("fetch_ms", milliseconds(outcome.fetching))
            json.add("transcoder_wait_ms", milliseconds(outcome.waitingForTranscoder))
            json.add("transcode_ms", milliseconds(outcome.transcoding))
            json.add("store_ms", milliseconds(outcome.storing))
            guard !outcome.stored.isEmpty else { return }
            json.member("stored")
            json.array(outcome.stored) { $0.write($1) }
        }
    }

    private mutating func write(_ error: FailureReason) {
        add("domain", error.domain)
        add("code", Int32(clamping: error.code))
        add("message", error.message)
    }

    /// A stored file in the form that its `Codable` conformance reads.
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
            json.add("robots", file.robots)
            json.add("replaced", file.replaced)
            json.add("exceedsMaxBytes", file.exceedsMaxBytes)
            json.add("recipe", file.recipe)
            json.add("differs", file.differs)
            json.add("unchanged", file.unchanged)
            json.add("origin", file.origin?.rawValue)
            if let digest = file.digest {
                json.member("digest")
                json.object { json in
                    json.add("thumbHash", digest.thumbHash)
                    json.add("blurHash", digest.blurHash)
                    json.add("averageColor", digest.averageColor)
                    json.add("dominantColor", digest.dominantColor)
                    json.add("perceptualHash", digest.perceptualHash)
                    json.add("hasAlpha", digest.hasAlpha)
                    json.add("frames", digest.frames)
                }
            }
            guard let error = file.error else { return }
            json.member("error")
            json.object { $0.write(error) }
        }
    }
}

extension FixedWidthInteger {
    /// Nil for zero, the database's default.
    fileprivate var nonZero: Self? { self == 0 ? nil : self }
}

/// The database's decision about one outcome.
public enum Decision: Sendable, Equatable {
    /// Terminal: recorded as a success.
    case succeeded
    /// The job runs again, no earlier than after this time by the database's clock.
    case retried(after: Duration)
    /// Terminal: recorded as failed. The reason may differ from the reported one (a second 301 becomes 302).
    case failed(FailureReason)
    /// Terminal: recorded as cancelled.
    case cancelled
    /// The claim was no longer held: nothing was recorded and nothing may be published.
    case stale
    /// Another transaction has locked the job's row; send the result again shortly. Nothing was recorded and the claim
    /// is still held.
    case busy
}
