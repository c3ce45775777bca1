package import ImageModel

/// A paused origin: no worker sends it requests.
package struct HeldOrigin: Sendable, Equatable {
    package enum Reason: String, Sendable {
        /// The origin sent `Retry-After`.
        case retryAfter = "retry-after"
        /// Too many consecutive failures.
        case breaker
        /// A call of `larder.origin_hold`.
        case `operator`
    }

    package let origin: String
    package let reason: Reason
    /// ISO 8601 in UTC; nil in what workers read.
    package let since: String?
    /// Zero in what workers read.
    package let age: Duration
    /// Time left by the database's clock; zero or negative if a breaker's probe is due.
    package let remaining: Duration
    /// The failure that opened the breaker; its message is empty.
    package let failure: FailureReason?
    /// The failure's HTTP status, if any.
    package let httpStatus: Int?
}

extension PostgresJobQueue.Reports {
    /// Paused origins, at most 4,096, longest pause first. For logins that may read views.
    package func heldOrigins() async throws(QueueError) -> [HeldOrigin] {
        try await database.read(
            """
            SELECT origin, reason, ceil(extract(epoch FROM remaining) * 1000::numeric)::bigint, domain, code, http_status,
                \(Self.iso("since")),
                (extract(epoch FROM statement_timestamp() - since) * 1000::numeric)::bigint
            FROM larder.held_origin ORDER BY until DESC LIMIT 4096
            """
        ) { rows throws(QueueError) in rows.heldOrigins() }
    }
}

extension Rows {
    /// From `larder.held_origin` and `larder.origin_holds_v1`.
    func heldOrigins() -> [HeldOrigin] {
        (0..<count).compactMap { row in
            guard let origin = text(row, 0), let reason = text(row, 1).flatMap({ HeldOrigin.Reason(rawValue: $0) })
            else { return nil }
            return HeldOrigin(
                origin: origin, reason: reason, since: text(row, 6), age: .milliseconds(integer(row, 7) ?? 0),
                remaining: .milliseconds(integer(row, 2) ?? 0),
                failure: text(row, 3).map {
                    FailureReason(domain: $0, code: Int(integer(row, 4) ?? 0), message: "")
                }, httpStatus: integer(row, 5).map(Int.init))
        }
    }
}
