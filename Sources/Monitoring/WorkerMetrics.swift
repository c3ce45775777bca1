import Concurrency
import Dashboard
import Glibc
import ImageModel
import JobQueue
import Prefetcher
import Telemetry
import Worker

/// A worker's counts since its start, from its events.
struct WorkerMetrics {
    /// Maximum distinct errors counted by code; further ones count as `other`.
    private static let maxErrors = 200

    private struct ErrorClass: Hashable {
        let domain: String
        let code: Int
    }

    private var localFault: String?
    private var claimed = 0
    private var outcomes: [String: Int] = [:]
    private var errors: [ErrorClass: Int] = [:]
    private var otherErrors = 0
    private var stages = LoadReport().timing.stages.map { (name: $0.name, histogram: Histogram()) }
    private var bytesIn = 0
    private var bytesOut = 0
    private var downloads = 0
    private var variants = 0
    private var cached = 0
    private var blocked = 0
    private var databaseErrors = 0
    private var leasesLost = 0
    private var webhooks = (sent: 0, failed: 0)

    /// - Parameter span: of the event's attempt; nil when it is not recorded.
    mutating func add(_ event: WorkerEvent, in span: TraceContext?) {
        switch event {
        case .claimed(let count): claimed += count
        case .completed(let report): add(report, in: span)
        case .queueUnavailable, .resultRefused: databaseErrors += 1
        case .leaseLost: leasesLost += 1
        case .localFault(let fault): localFault = fault?.message
        case .webhook(_, let error): if error == nil { webhooks.sent += 1 } else { webhooks.failed += 1 }
        case .queueAvailable, .started, .stopping, .profileFault, .expired, .expiryFailed: break
        }
    }

    private mutating func add(_ report: AttemptReport, in span: TraceContext?) {
        outcomes[EventLog.word(report.decision), default: 0] += 1
        if let failure = report.failure {
            let key = ErrorClass(domain: failure.domain, code: failure.code)
            if errors[key] != nil || errors.count < Self.maxErrors {
                errors[key, default: 0] += 1
            } else {
                otherErrors += 1
            }
            if key == ErrorClass(domain: FailureCode.Domain.webImage, code: 1_003) { blocked += 1 }
        }
        let load = report.load
        let now = span == nil ? .zero : WallClock().now
        for (place, stage) in load.timing.stages.enumerated() where stage.time > .zero {
            stages[place].histogram.add(stage.time / .seconds(1), in: span, at: now)
        }
        bytesIn += load.bytesIn
        bytesOut += load.bytesOut
        downloads += load.downloads
        variants += load.made
        if report.failure == nil && load.downloads == 0 { cached += 1 }
    }

    func write(to page: inout MetricsPage) {
        page.add("larder_jobs_claimed_total", .counter, "Jobs that this worker has claimed.", Double(claimed))
        page.add(
            "larder_jobs_total", .counter, "Attempts that ended, by the decision of the database.",
            outcomes.sorted { $0.key < $1.key }.map { ([("outcome", $0.key)], Double($0.value)) })
        var failed = errors.sorted { ($0.key.domain, $0.key.code) < ($1.key.domain, $1.key.code) }.map {
            ([("domain", $0.key.domain), ("code", "\($0.key.code)")], Double($0.value))
        }
        if otherErrors > 0 { failed.append(([("domain", "other"), ("code", "0")], Double(otherErrors))) }
        page.add("larder_job_errors_total", .counter, "Attempts that failed, by error.", failed)
        page.add(
            "larder_stage_duration_seconds", "Time of an attempt in a stage, without the stages it skipped.",
            stages.map { ([("stage", $0.name)], $0.histogram) })
        for (name, help, value) in [
            ("larder_downloads_total", "Downloads that ended with a body.", downloads),
            ("larder_downloaded_bytes_total", "Bytes received as bodies.", bytesIn),
            ("larder_variants_total", "Variants that were made.", variants),
            ("larder_stored_bytes_total", "Bytes of new files in the cache.", bytesOut),
            ("larder_cache_hits_total", "Jobs that succeeded without a download.", cached),
            ("larder_blocklist_hits_total", "Jobs of blocked URLs.", blocked),
            ("larder_database_errors_total", "Calls of the database that failed and are repeated.", databaseErrors),
            ("larder_leases_lost_total", "Leases that this worker lost.", leasesLost),
        ] {
            page.add(name, .counter, help, Double(value))
        }
        page.add(
            "larder_webhook_attempts_total", .counter, "Attempts to deliver a webhook.",
            [([("outcome", "failed")], Double(webhooks.failed)), ([("outcome", "sent")], Double(webhooks.sent))])
        page.add(
            "larder_local_fault", .gauge, "1 while the worker lacks what every job needs.", localFault == nil ? 0 : 1)
    }
}
