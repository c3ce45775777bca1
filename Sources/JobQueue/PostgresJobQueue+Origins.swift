private import Concurrency
public import ImageModel

/// An origin that is held: no worker sends it requests.
public struct HeldOrigin: Sendable, Equatable {
    /// Why an origin is held.
    public enum Reason: String, Sendable {
        /// The origin sent a `Retry-After`.
        case retryAfter = "retry-after"
        /// Too many failures in a row.
        case breaker
        /// A call of `larder.origin_hold`.
        case `operator`
    }

    /// Scheme, host and port in normal form, `https://example.com:443`.
    public let origin: String
    /// Why it is held.
    public let reason: Reason
    /// Since when: ISO 8601 in UTC; nil in what workers read.
    public let since: String?
    /// Time left, by the clock of the database; zero or negative when the probe of a breaker is due.
    public let remaining: Duration
    /// Probes that failed in a row since the breaker opened.
    public let failedProbes: Int
    /// True when its jobs are claimed, to fail without a request.
    public let isGivenUp: Bool
    /// The failure that opened the breaker; its message is empty.
    public let failure: FailureReason?
    /// The HTTP status of that failure, if it had one.
    public let httpStatus: Int?
}

/// A worker's finding about an origin.
public struct OriginReport: Sendable, Equatable {
    /// The kinds of findings.
    public enum Finding: Sendable, Equatable {
        /// It sent a `Retry-After`; at most an hour is used.
        case held(Duration)
        /// Its breaker opened for this time, after this failure.
        case opened(Duration, failedProbes: Int, givesUp: Bool, FailureReason, httpStatus: Int?)
        /// A probe succeeded.
        case closed
    }

    /// Scheme, host and port in normal form, the port always there.
    public let origin: String
    /// The finding.
    public let finding: Finding

    /// Creates a report.
    public init(origin: String, _ finding: Finding) {
        self.origin = origin
        self.finding = finding
    }
}

extension PostgresJobQueue {
    /// Which errors count towards the breaker of an origin; operators may change the rows.
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

    /// The held origins, at most 4,096, the longest first. For a login that may read views.
    public func heldOrigins() async throws(QueueError) -> [HeldOrigin] {
        try await holds(
            """
            SELECT origin, reason, ceil(extract(epoch FROM remaining) * 1000::numeric)::bigint, failed_probes, gave_up, domain, code,
                http_status, \(Self.iso("since"))
            FROM larder.held_origin ORDER BY until DESC LIMIT 4096
            """)
    }

    /// The held origins, at most 4,096, the longest first. For workers; deletes expired holds.
    public func originHolds() async throws(QueueError) -> [HeldOrigin] {
        try await holds(
            """
            SELECT origin, reason, remaining_ms, failed_probes, gave_up, domain, code, http_status, NULL
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
                    origin: origin, reason: reason, since: rows.text(row, 8),
                    remaining: .milliseconds(rows.integer(row, 2) ?? 0),
                    failedProbes: Int(rows.integer(row, 3) ?? 0), isGivenUp: rows.flag(row, 4) ?? false,
                    failure: rows.text(row, 5).map {
                        FailureReason(domain: $0, code: Int(rows.integer(row, 6) ?? 0), message: "")
                    }, httpStatus: rows.integer(row, 7).map(Int.init))
            }
        }
    }

    /// Shares findings with all workers. May be repeated.
    ///
    /// An open breaker holds the origin when another worker has reported one, too, or when no other worker has jobs of
    /// it.
    ///
    /// - Parameter worker: the number of the worker; nil by default, for no registered one.
    public func report(_ reports: [OriginReport], by worker: Int64? = nil) async throws(QueueError) {
        guard !reports.isEmpty else { return }
        let parameters: [Parameter] = [
            .texts(reports.map(\.origin)), .texts(reports.map(\.finding.name)),
            .integers(reports.map { $0.finding.length.milliseconds }),
            .optionalIntegers(reports.map { $0.finding.opening.map { Int64($0.failedProbes) } }),
            .optionalIntegers(reports.map { $0.finding.opening.map { $0.givesUp ? 1 : 0 } }),
            .optionalTexts(reports.map { $0.finding.opening?.failure.domain }),
            .optionalIntegers(reports.map { $0.finding.opening.map { Int64($0.failure.code) } }),
            .optionalIntegers(reports.map { $0.finding.opening?.httpStatus.map(Int64.init) }), .integer(worker),
        ]
        try await ask("SELECT larder.origin_report_v1($1, $2, $3, $4, $5, $6, $7, $8, $9)", parameters) {
            _ throws(QueueError) in
        }
    }

    /// Removes the hold of the origin of a URL, or all holds. Returns how many there were.
    ///
    /// Throws `.invalidArgument` when the text does not start with an origin.
    @discardableResult
    public func clearOrigin(_ origin: String? = nil) async throws(QueueError) -> Int {
        try await ask("SELECT larder.origin_clear($1)", [.text(origin)]) { rows throws(QueueError) in
            Int(rows.integer(0, 0) ?? 0)
        }
    }

    /// Holds the origin of a URL for a time.
    ///
    /// Throws `.invalidArgument` when the text does not start with an origin or the time is not positive.
    public func holdOrigin(_ origin: String, for length: Duration) async throws(QueueError) {
        try await ask(
            "SELECT larder.origin_hold($1, $2::float8 * interval '1 ms')",
            [.text(origin), .integer(length.milliseconds)]
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
        claims.withLock { $0.end(jobs.lazy.map(\.claim)) }
    }
}

extension OriginReport.Finding {
    fileprivate struct Opening {
        let failedProbes: Int
        let givesUp: Bool
        let failure: FailureReason
        let httpStatus: Int?
    }

    /// The reason for `larder.origin_report_v1`.
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
