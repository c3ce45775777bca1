package import JobQueue
import Reports

/// The families about the last run of each batch name that is over, for alerts on runs from cron.
package struct RunMetrics {
    /// Names that are shown, those that ended last; the others would grow without limit.
    private static let most = 50
    /// The newest batches that are read.
    private static let read = 1_000

    private let runs: [(name: String, batch: BatchProgress)]

    package init(of queue: PostgresJobQueue) async throws(QueueError) {
        self.init(try await queue.reports.progress(limit: Self.read, isDetailed: false))
    }

    /// - Parameter batches: newest first.
    package init(_ batches: [BatchProgress]) {
        var seen: Set<String> = []
        let latest = batches.filter(\.isOver).compactMap { batch in batch.name.map { ($0, batch) } }
            .filter { seen.insert($0.0).inserted }
        runs = latest.prefix(Self.most).map { (name: $0.0, batch: $0.1) }
    }

    package func write(to page: inout MetricsText) {
        page.add(
            "larder_batch_last_run_items", .gauge, "Items of the last run of a batch name that is over, by outcome.",
            runs.flatMap { run in
                [
                    ("cancelled", run.batch.cancelled), ("failed", run.batch.failed),
                    ("succeeded", run.batch.succeeded),
                ].map { ([("batch", run.name), ("outcome", $0.0)], Double($0.1)) }
            })
        page.add(
            "larder_batch_last_run_end_timestamp_seconds", .gauge, "When that run ended.",
            runs.compactMap { run in run.batch.endedAt.map { ([("batch", run.name)], $0) } })
        page.add(
            "larder_batch_last_run_duration_seconds", .gauge, "Time from the opening of that run to its end.",
            runs.compactMap { run in run.batch.duration.map { ([("batch", run.name)], $0 / .seconds(1)) } })
    }
}
