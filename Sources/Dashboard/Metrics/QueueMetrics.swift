package import JobQueue

/// The families about the queues of the database. Every worker shows the same ones.
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

    package func write(to page: inout MetricsText) {
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
