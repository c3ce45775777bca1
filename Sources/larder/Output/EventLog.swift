import DiskCache
import Foundation
import ImageModel
import JobQueue
import Prefetcher
import Worker

/// Turns a worker's events into log lines on standard error: `key=value` for people, JSON for machines.
struct EventLog: Sendable {
    private let json: Bool

    init(_ arguments: Arguments) throws(CommandError) {
        switch try arguments.value("log-format") ?? "text" {
        case "text": json = false
        case "json": json = true
        case let other: throw .usage("--log-format: '\(other)' is neither text nor json")
        }
    }

    /// Writes one event, which does not block.
    func tell(_ event: WorkerEvent, by printer: Printer) {
        printer.note(line(event))
    }

    /// Writes what expiry did, which does not block.
    func tell(_ event: ExpiryEvent, by printer: Printer) {
        switch event {
        case .expired(let line):
            printer.note(
                self.line(
                    "expired",
                    [
                        ("files", "\(line.files)"), ("deleted", "\(line.deleted)"), ("bytes", "\(line.deletedBytes)"),
                        ("spared", "\(line.spared)"), ("failed", "\(line.failed)"),
                    ]))
        case .expiryFailed(let error): printer.note(line("expiry_failed", [("error", error.description)]))
        }
    }

    /// What happens beside the work.
    enum ExpiryEvent {
        case expired(ExpiryLine)
        case expiryFailed(StoreError)
    }

    private func line(_ event: WorkerEvent) -> String {
        switch event {
        case .started(let worker): line("started", [("worker", "\(worker)")])
        case .claimed(let count): line("claimed", [("jobs", "\(count)")])
        case .leaseLost: line("lease_lost", [])
        case .stopping(let running): line("stopping", [("running", "\(running)")])
        case .queueUnavailable(let error): line("queue_unavailable", [("error", error.description)])
        case .completed(let report): line("completed", Self.fields(report))
        }
    }

    private static func fields(_ report: AttemptReport) -> [(String, String)] {
        let timing = report.load.timing
        var fields = [
            ("job", "\(report.job.id)"), ("attempt", "\(report.job.attempt)"), ("url", LoggedURL.text(report.job.url)),
            ("decision", word(report.decision)), ("fetch_ms", "\(timing.fetch.milliseconds)"),
            ("transcode_ms", "\(timing.transcode.milliseconds)"), ("store_ms", "\(timing.store.milliseconds)"),
            ("bytes_in", "\(report.load.bytesIn)"),
        ]
        if report.load.isUnchanged { fields.append(("unchanged", "true")) }
        if let failure = report.failure {
            fields.append(("error", "\(failure.domain) \(failure.code)"))
            // Refused, not failed: which address, port or rule it was is for whoever set the policy.
            if failure.isRefusal { fields.append(("reason", failure.message)) }
        }
        return fields
    }

    private static func word(_ decision: CompletionResult.Decision) -> String {
        switch decision {
        case .succeeded: "succeeded"
        case .failed: "failed"
        case .retried: "retried"
        case .cancelled: "cancelled"
        case .stale: "stale"
        case .busy: "busy"
        }
    }

    private func line(_ event: String, _ fields: [(String, String)]) -> String {
        if json, let text = try? JSONLine.text(Dictionary([("event", event)] + fields) { first, _ in first }) {
            return text
        }
        let words = fields.map { key, value in "\(key)=\(LogValue.quoted(value))" }
        return (["event=\(event)"] + words).joined(separator: " ")
    }
}

extension FailureReason {
    /// Whether a policy refused: address, port, scheme, downgrade, robots.
    fileprivate var isRefusal: Bool {
        switch (domain, code) {
        case ("LarderErrorDomain", 101...104), ("NSURLErrorDomain", -1002): true
        default: false
        }
    }
}
