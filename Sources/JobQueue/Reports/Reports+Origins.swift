package import ImageModel

/// An origin that is held: no worker sends it requests.
package struct HeldOrigin: Sendable, Equatable {
    /// Why an origin is held.
    package enum Reason: String, Sendable {
        /// The origin sent a `Retry-After`.
        case retryAfter = "retry-after"
        /// Too many failures in a row.
        case breaker
        /// A call of `larder.origin_hold`.
        case `operator`
    }

    /// Scheme, host and port in normal form, `https://example.com:443`.
    package let origin: String
    /// Why it is held.
    package let reason: Reason
    /// Since when: ISO 8601 in UTC; nil in what workers read.
    package let since: String?
    /// The time since then; zero in what workers read.
    package let age: Duration
    /// Time left, by the clock of the database; zero or negative when the probe of a breaker is due.
    package let remaining: Duration
    /// The failure that opened the breaker; its message is empty.
    package let failure: FailureReason?
    /// The HTTP status of that failure, if it had one.
    package let httpStatus: Int?
}

extension PostgresJobQueue.Reports {
    /// The held origins, at most 4,096, the longest first. For a login that may read views.
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
    /// The rows of `larder.held_origin` and `larder.origin_holds_v1`.
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
