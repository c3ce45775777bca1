import Concurrency
import DiskCache
import Foundation
import ImageModel
import JobQueue
import Prefetcher
import Transcoder
import Worker

/// Writes a worker's events to standard error, one line each: `key=value` text, or JSON.
struct EventLog: Sendable {
    private typealias Value = Encodable & CustomStringConvertible
    private typealias Fields = [(name: String, value: any Value)]

    private enum Level: String {
        case info, warning, error
    }

    static let formatOption = Option("log-format", .value("FORMAT"), "text (default) or json")

    private let json: Bool

    init(_ arguments: Arguments) throws(CommandError) {
        json = try arguments.choice("log-format", of: ["text", "json"]) == "json"
    }

    /// Does not block.
    func write(_ event: WorkerEvent, to printer: Printer) {
        let (level, name, fields) = Self.parts(of: event)
        write(name, level, fields, to: printer)
    }

    /// Writes what the kernel denies the transcoders. Does not block.
    func write(_ sandbox: SandboxLevel, to printer: Printer) {
        var fields: Fields = [("sandbox", sandbox.rawValue)]
        if let missing = sandbox.missing { fields.append(("missing", missing)) }
        write("sandbox", sandbox == .full ? .info : .warning, fields, to: printer)
    }

    private func write(_ name: String, _ level: Level, _ fields: Fields, to printer: Printer) {
        printer.note(
            line([("time", Date.now.formatted(Self.time)), ("level", level.rawValue), ("event", name)] + fields))
    }

    /// UTC with milliseconds.
    private static let time = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    private static func parts(of event: WorkerEvent) -> (Level, String, Fields) {
        switch event {
        case .started(let worker): return (.info, "started", [("worker", worker)])
        case .claimed(let count): return (.info, "claimed", [("jobs", count)])
        case .localFault(let fault?): return (.error, "local_fault", [("error", fault.message)])
        case .localFault(nil): return (.info, "local_fault_over", [])
        case .profileFault(let fault):
            return (
                .error, "local_fault",
                [("profile", fault.profile), ("batch", fault.batch), ("error", fault.reason.message)]
            )
        case .leaseLost: return (.warning, "lease_lost", [])
        case .stopping(let running): return (.info, "stopping", [("running", running)])
        case .queueUnavailable(let error): return (.warning, "queue_unavailable", [("error", error.description)])
        case .completed(let report): return (level(of: report), "completed", fields(report))
        case .expired(let report):
            let (age, size) = (report.expiredByAge, report.expiredBySize)
            return (
                .info, "expired",
                [
                    ("files", report.seen.files), ("deleted", age.files + size.files),
                    ("bytes", age.bytes + size.bytes), ("spared", report.spared.files),
                    ("failed", report.failed.files),
                ]
            )
        case .expiryFailed(let error): return (.error, "expiry_failed", [("error", error.description)])
        }
    }

    private static func level(of report: AttemptReport) -> Level {
        switch report.decision {
        case .succeeded, .cancelled: .info
        case .retried, .stale, .busy: .warning
        case .failed: .error
        }
    }

    private static func fields(_ report: AttemptReport) -> Fields {
        let timing = report.load.timing
        var fields: Fields = [
            ("job", report.job.id), ("attempt", report.job.attempt), ("url", LoggedURL.text(report.job.url)),
            ("decision", word(report.decision)), ("fetch_ms", timing.fetch.milliseconds),
            ("transcode_ms", timing.transcode.milliseconds), ("store_ms", timing.store.milliseconds),
            ("bytes_in", report.load.bytesIn),
        ]
        if let status = report.load.httpStatus { fields.append(("status", status)) }
        if report.load.isUnchanged { fields.append(("unchanged", true)) }
        if let failure = report.failure {
            fields += [("error", "\(failure.domain) \(failure.code)"), ("message", failure.message)]
        }
        return fields
    }

    /// The word for a decision in logs and metrics.
    static func word(_ decision: CompletionResult.Decision) -> String {
        switch decision {
        case .succeeded: "succeeded"
        case .failed: "failed"
        case .retried: "retried"
        case .cancelled: "cancelled"
        case .stale: "stale"
        case .busy: "busy"
        }
    }

    private func line(_ fields: Fields) -> String {
        if json {
            var object: JSONObject = [:]
            for field in fields { object[field.name] = field.value }
            if let text = try? JSONLine.text(object) { return text }
        }
        return fields.map { "\($0.name)=\(LogValue.quoted($0.value.description))" }.joined(separator: " ")
    }
}
