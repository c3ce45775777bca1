private import Concurrency
package import ImageModel

/// A worker's finding about an origin.
package struct OriginReport: Sendable, Equatable {
    package enum Finding: Sendable, Equatable {
        /// It sent `Retry-After`; capped at one hour.
        case held(Duration)
        /// Its breaker opened for this time after this failure, or its probe has begun.
        case opened(Duration, FailureReason, httpStatus: Int?)
        /// A probe succeeded.
        case closed
    }

    package let origin: String
    package let finding: Finding

    package init(origin: String, _ finding: Finding) {
        self.origin = origin
        self.finding = finding
    }
}

extension PostgresJobQueue.Workers {
    /// The errors that count towards an origin's breaker; operators may change the rows.
    package func originFaults() async throws(QueueError) -> [OriginFaultRule] {
        try await database.read("SELECT domain, code, http_status, counts FROM larder.origin_faults_v1()") {
            rows throws(QueueError) in
            (0..<rows.count).compactMap { row in
                guard let domain = rows.text(row, 0) else { return nil }
                return OriginFaultRule(
                    domain: domain, code: rows.integer(row, 1).map(Int.init),
                    httpStatus: rows.integer(row, 2).map(Int.init), counts: rows.flag(row, 3) ?? false)
            }
        }
    }

    /// Paused origins, at most 4,096, longest pause first. For workers; deletes expired pauses.
    package func originHolds() async throws(QueueError) -> [HeldOrigin] {
        try await database.ask(
            "SELECT origin, reason, remaining_ms, domain, code, http_status, NULL, 0 FROM larder.origin_holds_v1()"
        ) { rows throws(QueueError) in rows.heldOrigins() }
    }

    /// Shares findings with all workers. May be repeated.
    ///
    /// An open breaker pauses the origin if another worker has reported one too, or if no other worker has jobs of it.
    ///
    /// - Parameter worker: the reporting worker; nil, the default, for an unregistered one.
    package func report(_ reports: [OriginReport], by worker: Int64? = nil) async throws(QueueError) {
        guard !reports.isEmpty else { return }
        let parameters: [Parameter] = [
            .texts(reports.map(\.origin)), .texts(reports.map(\.finding.name)),
            .integers(reports.map { $0.finding.length.milliseconds }),
            .optionalTexts(reports.map { $0.finding.failure?.domain }),
            .optionalIntegers(reports.map { $0.finding.failure.map { Int64($0.code) } }),
            .optionalIntegers(reports.map { $0.finding.httpStatus.map(Int64.init) }), .integer(worker),
        ]
        try await database.ask(
            """
            SELECT larder.origin_report_v1($1, $2, $3, domains => $4, codes => $5, http_statuses => $6, worker => $7)
            """, parameters
        ) { _ throws(QueueError) in }
    }
}

extension OriginReport.Finding {
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
        case .held(let length), .opened(let length, _, _): length
        case .closed: .zero
        }
    }

    fileprivate var failure: FailureReason? { if case .opened(_, let failure, _) = self { failure } else { nil } }

    fileprivate var httpStatus: Int? { if case .opened(_, _, let status) = self { status } else { nil } }
}
