private import Concurrency
package import ImageModel

/// Conditions on jobs or failures; nil matches all.
package struct JobFilter: Sendable {
    /// A URL of the origin.
    package var origin: String?
    /// A URL pattern; `*` matches any characters.
    package var urlPattern: String?
    /// The error of the last attempt.
    package var error: FailureCode?
    /// Minimum time since the enqueue, or since a failure ended, by the database's clock.
    package var age: Duration?

    package init() {}

    package var isEmpty: Bool { origin == nil && urlPattern == nil && error == nil && age == nil }

    /// `urlPattern` as a pattern of LIKE.
    var likePattern: String? {
        urlPattern?.replacing(/[\\%_]/) { "\\" + $0.output }.replacing("*", with: "%")
    }

    /// Parameters 1 to 4: origin, pattern, domain and code.
    fileprivate var parameters: [Parameter] {
        [.text(origin), .text(likePattern), .text(error?.domain), .integer(error.map { Int64($0.code) })]
    }
}

/// Changes in portions, one transaction each.
extension PostgresJobQueue.Producer {
    /// Cancels live jobs of all batches, as `cancel(job:)` does, and returns how many. Skips jobs locked by other
    /// transactions.
    ///
    /// Throws `.invalidArgument` for an empty filter or an invalid origin.
    ///
    /// - Parameter isDryRun: only counts them.
    package func cancel(_ filter: JobFilter, isDryRun: Bool = false) async throws(QueueError) -> Int {
        let before = try await time(before: filter.age)
        var (jobs, last): (Int, Int64?) = (0, 0)
        while let after = last {
            let portion = try await database.ask(
                """
                SELECT jobs, last_job FROM larder.cancel_portion(
                    $1, $2, $3, $4::int, $5::timestamptz, $6, dry_run => \(isDryRun))
                """, filter.parameters + [.text(before), .integer(after)]
            ) { rows throws(QueueError) in (Int(rows.integer(0, 0) ?? 0), rows.integer(0, 1)) }
            jobs += portion.0
            last = portion.1
        }
        return jobs
    }

    /// Reopens failed items of a batch as new jobs, as `retryFailed(of:)` does, and returns how many.
    ///
    /// Throws `.unknownBatch`, `.batchClosed` if it is cancelled, and `.invalidArgument` for an invalid origin.
    ///
    /// - Parameter isDryRun: only counts them.
    package func retryFailed(
        _ filter: JobFilter, of batch: BatchReference, isDryRun: Bool = false
    ) async throws(QueueError) -> Int {
        let before = try await time(before: filter.age)
        var items = 0
        while true {
            let portion = try await database.ask(
                """
                SELECT larder.batch_retry_portion($6::text, origin => $1, url_like => $2, domain => $3, code => $4::int,
                    before => $5::timestamptz, dry_run => \(isDryRun))
                """, filter.parameters + [.text(before), .text(batch.text)]
            ) { rows throws(QueueError) in Int(rows.integer(0, 0) ?? 0) }
            items += portion
            if isDryRun || portion == 0 { return items }
        }
    }

    /// Reopens failed items of all batches as new jobs, as `retryFailed(of:)` does, and returns how many.
    ///
    /// Throws `.invalidArgument` for an invalid origin.
    ///
    /// - Parameter isDryRun: only counts them.
    package func retryFailed(_ filter: JobFilter, isDryRun: Bool = false) async throws(QueueError) -> Int {
        let before = try await time(before: filter.age)
        var (items, last): (Int, Int64?) = (0, 0)
        while let after = last {
            let portion = try await database.ask(
                """
                SELECT items, last_batch FROM larder.retry_portion(
                    $1, $2, $3, $4::int, $5::timestamptz, $6, dry_run => \(isDryRun))
                """, filter.parameters + [.text(before), .integer(after)]
            ) { rows throws(QueueError) in (Int(rows.integer(0, 0) ?? 0), rows.integer(0, 1)) }
            items += portion.0
            last = portion.1
        }
        return items
    }

    /// The time `age` ago by the database's clock, so that all portions have the same bound.
    private func time(before age: Duration?) async throws(QueueError) -> String? {
        guard let age else { return nil }
        return try await database.read(
            "SELECT (now() - $1::float8 * interval '1 ms')::text", [.integer(age.milliseconds)]
        ) { rows throws(QueueError) in rows.text(0, 0) }
    }
}
