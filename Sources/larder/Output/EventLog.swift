import DiskCache
import ImageModel
import JobQueue
import Prefetcher
import Worker

/// Writes a worker's events to standard error, one line each: `key=value` text, or JSON.
struct EventLog: Sendable {
    private let json: Bool

    init(_ arguments: Arguments) throws(CommandError) {
        json = try arguments.choice("log-format", of: ["text", "json"]) == "json"
    }

    /// Does not block.
    func write(_ event: WorkerEvent, to printer: Printer) {
        switch event {
        case .started(let worker): printer.note(line("started", [("worker", "\(worker)")]))
        case .claimed(let count): printer.note(line("claimed", [("jobs", "\(count)")]))
        case .localFault(let fault?): printer.note(line("local_fault", [("error", fault.message)]))
        case .localFault(nil): printer.note(line("local_fault_over", []))
        case .leaseLost: printer.note(line("lease_lost", []))
        case .stopping(let running): printer.note(line("stopping", [("running", "\(running)")]))
        case .queueUnavailable(let error): printer.note(line("queue_unavailable", [("error", error.description)]))
        case .completed(let report): printer.note(line("completed", Self.fields(report)))
        case .expired(let report):
            let (age, size) = (report.expiredByAge, report.expiredBySize)
            let counts = [
                ("files", report.seen.files), ("deleted", age.files + size.files), ("bytes", age.bytes + size.bytes),
                ("spared", report.spared.files), ("failed", report.failed.files),
            ]
            printer.note(line("expired", counts.map { ($0, "\($1)") }))
        case .expiryFailed(let error): printer.note(line("expiry_failed", [("error", error.description)]))
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
            // Which address, port or rule a policy refused.
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
        return (["event=\(event)"] + fields.map { "\($0)=\(LogValue.quoted($1))" }).joined(separator: " ")
    }
}

extension FailureReason {
    /// Whether a policy refused the address, port, scheme, downgrade or robot.
    fileprivate var isRefusal: Bool {
        switch (domain, code) {
        case ("LarderErrorDomain", 101...104), ("NSURLErrorDomain", -1002): true
        default: false
        }
    }
}
