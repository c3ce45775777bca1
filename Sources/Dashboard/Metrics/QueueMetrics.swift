package import JobQueue
import Reports
package import Telemetry

/// The families about the database's queues, equal on every worker.
package struct QueueMetrics {
    private let gauges: [String: [QueueGauge]]

    package init(_ gauges: [QueueGauge]) { self.gauges = Dictionary(grouping: gauges, by: \.metric) }

    private static let families: [(metric: String, name: String, reason: String, help: String)] = [
        ("ready", "larder_queue_ready_jobs", "", "Jobs that are ready, at most 10000 by queue and priority."),
        ("oldest_ready", "larder_queue_oldest_ready_seconds", "", "Time since the oldest ready job was enqueued."),
        ("running", "larder_queue_running_jobs", "", "Jobs that run, with all workers."),
        ("open", "larder_queue_open_items", "", "Items of its batches that are not finished."),
        ("paused", "larder_queue_paused", "", "1 while the queue is paused."),
        ("limited", "larder_queue_limited", "", "1 while a limit of the queue is reached."),
        ("workers", "larder_workers", "", "Live workers of all queues."),
        ("origins_held", "larder_origins_held", "reason", "Origins that are held, by reason."),
        ("maintenance_late", "larder_maintenance_late_seconds", "task", "By how much a maintenance task is late."),
        ("findings", "larder_health_findings", "severity", "Findings of the view larder.health."),
    ]

    package func write(to page: inout MetricsPage) {
        for family in Self.families {
            page.add(
                family.name, .gauge, family.help,
                (gauges[family.metric] ?? []).map { gauge in
                    var labels: [(String, String)] = []
                    if let queue = gauge.queue { labels.append(("queue", queue)) }
                    if let priority = gauge.priority { labels.append(("priority", "\(priority)")) }
                    if let reason = gauge.reason { labels.append((family.reason, reason)) }
                    return (labels, gauge.value)
                })
        }
    }
}

/// The families about the last completed run of each batch name, for alerts on runs from cron.
package struct RunMetrics {
    /// Maximum names, the latest ended ones; otherwise they would grow without limit.
    private static let most = 50
    /// Newest batches read.
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

    package func write(to page: inout MetricsPage) {
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
