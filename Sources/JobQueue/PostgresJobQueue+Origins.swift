public import ImageModel

/// An origin that all workers leave alone.
public struct HeldOrigin: Sendable, Equatable {
    /// What asks for it.
    public enum Reason: String, Sendable {
        /// The origin itself, by the header of that name.
        case retryAfter = "retry-after"
        /// Failures in a row.
        case breaker
        /// Somebody who called `larder.origin_hold`.
        case `operator`
    }

    /// Scheme, host and port in normal form, `https://example.com:443`.
    public let origin: String
    /// Why.
    public let reason: Reason
    /// How long still, by the database's clock; zero, or to workers less, when a breaker's probe is due.
    public let remaining: Duration
    /// Probes that failed in a row since the breaker opened.
    public let failedProbes: Int
    /// Whether its jobs are handed out again, to fail without a request.
    public let isGivenUp: Bool
    /// The failure that opened the breaker; its message is empty.
    public let failure: FailureReason?
    /// The status of that failure, if it was one.
    public let httpStatus: Int?
}

/// What a worker has found out about an origin.
public struct OriginReport: Sendable, Equatable {
    /// The findings.
    public enum Finding: Sendable, Equatable {
        /// It asks to be left alone for so long; an hour at most is kept.
        case held(Duration)
        /// Its breaker has opened for so long, after this failure.
        case opened(Duration, failedProbes: Int, givesUp: Bool, FailureReason, httpStatus: Int?)
        /// A probe succeeded.
        case closed
    }

    /// Scheme, host and port in normal form, the port always there.
    public let origin: String
    /// What was found.
    public let finding: Finding

    /// Reports a finding.
    public init(origin: String, _ finding: Finding) {
        self.origin = origin
        self.finding = finding
    }
}

extension PostgresJobQueue {
    /// Which errors count against an origin, by the rows that operators may change.
    public func originFaults() async throws(QueueError) -> [OriginFaultRule] {
        try await ask("SELECT domain, code, http_status, counts FROM larder.origin_faults_v1()") {
            rows throws(QueueError) in
            (0..<rows.count).compactMap { row in
                guard let domain = rows.text(row, 0) else { return nil }
                return OriginFaultRule(
                    domain: domain, code: rows.integer(row, 1).map(Int.init),
                    httpStatus: rows.integer(row, 2).map(Int.init), counts: rows.flag(row, 3) ?? false)
            }
        }
    }

    /// The origins that are left alone now, at most 4,096, the longest first: for people; whoever may read views may ask.
    public func heldOrigins() async throws(QueueError) -> [HeldOrigin] {
        try await holds(
            """
            SELECT origin, reason, ceil(extract(epoch FROM remaining) * 1000)::bigint, failed_probes, gave_up, domain, code,
                http_status
            FROM larder.held_origin ORDER BY until DESC LIMIT 4096
            """)
    }

    /// The same for workers, who forget on the way what is over.
    public func originHolds() async throws(QueueError) -> [HeldOrigin] {
        try await holds(
            """
            SELECT origin, reason, remaining_ms, failed_probes, gave_up, domain, code, http_status
            FROM larder.origin_holds_v1()
            """)
    }

    private func holds(_ sql: String) async throws(QueueError) -> [HeldOrigin] {
        try await ask(sql) { rows throws(QueueError) in
            (0..<rows.count).compactMap { row in
                guard let origin = rows.text(row, 0),
                    let reason = rows.text(row, 1).flatMap({ HeldOrigin.Reason(rawValue: $0) })
                else { return nil }
                return HeldOrigin(
                    origin: origin, reason: reason, remaining: .milliseconds(rows.integer(row, 2) ?? 0),
                    failedProbes: Int(rows.integer(row, 3) ?? 0), isGivenUp: rows.flag(row, 4) ?? false,
                    failure: rows.text(row, 5).map {
                        FailureReason(domain: $0, code: Int(rows.integer(row, 6) ?? 0), message: "")
                    }, httpStatus: rows.integer(row, 7).map(Int.init))
            }
        }
    }

    /// Tells all workers what this one found; a report may be sent twice.
    public func report(_ reports: [OriginReport]) async throws(QueueError) {
        guard !reports.isEmpty else { return }
        let parameters: [Parameter] = [
            .texts(reports.map(\.origin)), .texts(reports.map(\.finding.name)),
            .integers(reports.map { $0.finding.length.milliseconds }),
            .optionalIntegers(reports.map { $0.finding.opening.map { Int64($0.failedProbes) } }),
            .optionalIntegers(reports.map { $0.finding.opening.map { $0.givesUp ? 1 : 0 } }),
            .optionalTexts(reports.map { $0.finding.opening?.failure.domain }),
            .optionalIntegers(reports.map { $0.finding.opening.map { Int64($0.failure.code) } }),
            .optionalIntegers(reports.map { $0.finding.opening?.httpStatus.map(Int64.init) }),
        ]
        try await ask("SELECT larder.origin_report_v1($1, $2, $3, $4, $5, $6, $7, $8)", parameters) {
            _ throws(QueueError) in
        }
    }

    /// Forgets what is known of a URL's origin, or of all: its jobs go on. Returns how many origins were held.
    ///
    /// Throws `.invalidArgument` when the text begins with no origin.
    @discardableResult
    public func clearOrigin(_ origin: String? = nil) async throws(QueueError) -> Int {
        try await ask("SELECT larder.origin_clear($1)", [.text(origin)]) { rows throws(QueueError) in
            Int(rows.integer(0, 0) ?? 0)
        }
    }

    /// Makes all workers leave a URL's origin alone for so long.
    ///
    /// Throws `.invalidArgument` when the text begins with no origin, and for a time that is not positive.
    public func holdOrigin(_ origin: String, for length: Duration) async throws(QueueError) {
        try await ask(
            "SELECT larder.origin_hold($1, $2 * interval '1 ms')", [.text(origin), .integer(length.milliseconds)]
        ) { _ throws(QueueError) in }
    }
}

extension WorkerSession {
    /// Gives jobs back until later, an hour at most: their origin is to be left alone. The attempt is refunded. Claims
    /// no longer held are passed over.
    public func snooze(_ jobs: [(claim: Claim, delay: Duration)]) async throws(QueueError) {
        guard !jobs.isEmpty else { return }
        try await queue.ask(
            "SELECT larder.snooze_v1($1, $2, $3, $4)",
            [
                .integer(id), .integers(jobs.map(\.claim.job)), .integers(jobs.map(\.claim.number)),
                .integers(jobs.map(\.delay.milliseconds)),
            ]
        ) { _ throws(QueueError) in }
    }
}

extension OriginReport.Finding {
    fileprivate struct Opening {
        let failedProbes: Int
        let givesUp: Bool
        let failure: FailureReason
        let httpStatus: Int?
    }

    /// The finding as `larder.origin_report_v1` calls it.
    fileprivate var name: String {
        switch self {
        case .held: HeldOrigin.Reason.retryAfter.rawValue
        case .opened: HeldOrigin.Reason.breaker.rawValue
        case .closed: "closed"
        }
    }

    fileprivate var length: Duration {
        switch self {
        case .held(let length), .opened(let length, _, _, _, _): length
        case .closed: .zero
        }
    }

    fileprivate var opening: Opening? {
        guard case .opened(_, let failedProbes, let givesUp, let failure, let status) = self else { return nil }
        return Opening(failedProbes: failedProbes, givesUp: givesUp, failure: failure, httpStatus: status)
    }
}
