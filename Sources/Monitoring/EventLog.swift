package import CommandLine
import Concurrency
import DiskCache
import Downloader
import FoundationEssentials
package import ImageModel
import JobQueue
import Prefetcher
import Reports
package import Terminal
package import Transcoder
package import Worker

/// Writes a worker's events to standard error, one line each: `key=value` text, or JSON.
package struct EventLog: Sendable {
    package typealias Value = Encodable & CustomStringConvertible
    package typealias Fields = [(name: String, value: any Value)]

    /// Least severe first.
    package enum Level: String, CaseIterable, Comparable {
        case debug, info, warning, error

        package static func < (a: Level, b: Level) -> Bool {
            (allCases.firstIndex(of: a) ?? 0) < (allCases.firstIndex(of: b) ?? 0)
        }
    }

    package static let formatOption = Option("log-format", .value("FORMAT"), "text (default) or json")

    package static let levelOption = Option(
        "log-level", .value("LEVEL"),
        "the least severe events to write: debug (a line for every job), info (default), warning or error")

    package let json: Bool
    private let least: Locked<Level>
    /// The worker of the latest `started`, for its jobs' lines.
    private let worker = Locked<Int64?>(nil)
    private let outage = Locked(OutageLines())

    /// - Parameter least: the level without `--log-level`.
    package init(_ arguments: Arguments, least: Level = .info) throws(CommandError) {
        json = try arguments.choice("log-format", of: ["text", "json"]) == "json"
        self.least = Locked(try Self.level(arguments) ?? least)
    }

    /// The log for unparsed arguments, whose errors are events too; nil unless it is JSON.
    package init?(unparsed words: [String], environment: [String: String]) {
        let words = words.prefix { $0 != "--" }
        let name = "--\(Self.formatOption.name)"
        let given = Array(zip(words, words.dropFirst())).last { $0.0 == name }?.1
        let joined = words.last { $0.hasPrefix(name + "=") }?.dropFirst(name.count + 1)
        guard given ?? joined.map(String.init) ?? environment[Self.formatOption.variable] == "json" else { return nil }
        json = true
        least = Locked(.info)
    }

    /// `--log-level`; nil without it.
    package static func level(_ arguments: Arguments) throws(CommandError) -> Level? {
        try arguments.choice("log-level", of: Level.allCases.map(\.rawValue)).flatMap(Level.init)
    }

    package func setLevel(_ level: Level) { least.withLock { $0 = level } }

    private func writes(_ level: Level) -> Bool { least.withLock { level >= $0 } }

    /// Does not block.
    ///
    /// - Parameter trace: of the event's job, 32 hexadecimal digits.
    package func write(_ event: WorkerEvent, trace: String?, to printer: Printer) {
        if case .started(let id) = event { worker.withLock { $0 = id } }
        if event.isAnswer, let duration = outage.withLock({ $0.end(at: .now) }) {
            write("queue_available", .info, [("seconds", (duration / .seconds(1) * 10).rounded() / 10)], to: printer)
        }
        if case .completed(let report) = event, !writes(Self.level(of: report)) { return }
        guard let (level, name, parts) = Self.parts(of: event) else { return }
        var fields = parts
        if case .completed = event, let id = worker.withLock({ $0 }) { fields.append(("worker", id)) }
        if let trace { fields.append(("trace_id", trace)) }
        if case .queueUnavailable = event {
            guard let failures = outage.withLock({ $0.fail(at: .now) }) else { return }
            fields.append(("failures", failures))
        }
        write(name, level, fields, to: printer)
    }

    /// Logs the transcoders' sandbox level and missing output formats. Does not block.
    package func write(_ sandbox: SandboxLevel, _ missing: [ImageFormat], to printer: Printer) {
        var fields: Fields = [("sandbox", sandbox.rawValue)]
        if let missing = sandbox.missing { fields.append(("missing", missing)) }
        write("sandbox", sandbox == .full ? .info : .warning, fields, to: printer)
        if !missing.isEmpty {
            write("encoders", .warning, [("missing", missing.map(\.name).sorted().joined(separator: " "))], to: printer)
        }
    }

    /// Logs that the trace collector fails, or works again. Does not block.
    package func write(collector failure: String?, to printer: Printer) {
        if let failure {
            write("collector_unavailable", .warning, [("error", failure)], to: printer)
        } else {
            write("collector_available", .info, [], to: printer)
        }
    }

    /// Logs an event of the command itself: a sentence in text, an event with the sentence as `message` in JSON.
    package func say(_ name: String, _ level: Level, _ message: String, _ fields: Fields = []) {
        guard writes(level) else { return }
        if json {
            Console.log(line(name, level, fields + [("message", message)]))
        } else {
            Console.note("larder: \(message)")
        }
    }

    /// Writes all later notes of the program, including its last error, as events of this log, if it is JSON.
    package func takeNotes() {
        guard json else { return }
        let format: @Sendable (String, CommandError?) -> String = { text, error in
            let prefix = "larder: "
            let message = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
            guard let error else { return line("note", .warning, [("message", message)]) }
            return line("error", .error, [("error", "\(error.domain) \(error.code)"), ("message", error.message)])
        }
        Console.noteFormat.withLock { $0 = format }
    }

    private func write(_ name: String, _ level: Level, _ fields: Fields, to printer: Printer) {
        guard writes(level) else { return }
        printer.log(line(name, level, fields))
    }

    private func line(_ name: String, _ level: Level, _ fields: Fields) -> String {
        line([("time", Date.now.formatted(Self.time)), ("level", level.rawValue), ("event", name)] + fields)
    }

    /// UTC with milliseconds.
    private static let time = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    /// Nil for an event without its own line.
    private static func parts(of event: WorkerEvent) -> (Level, String, Fields)? {
        switch event {
        case .started(let worker): return (.info, "started", [("worker", worker)])
        case .claimed(let count): return (.debug, "claimed", [("jobs", count)])
        case .localFault(let fault?): return (.error, "local_fault", [("error", fault.message)])
        case .localFault(nil): return (.info, "local_fault_over", [])
        case .profileFault(let fault):
            return (
                .error, "local_fault",
                [("profile", fault.profile), ("batch", fault.batch), ("error", fault.reason.message)]
            )
        case .leaseLost: return (.warning, "lease_lost", [])
        case .resultRefused(let job, let error):
            return (.error, "result_refused", [("job", job), ("error", error.description)])
        case .stopping(let running): return (.info, "stopping", [("running", running)])
        case .queueUnavailable(let error): return (.warning, "queue_unavailable", [("error", error.description)])
        case .queueAvailable: return nil
        case .completed(let report): return (level(of: report), "completed", fields(report))
        case .webhook(let batch, nil): return (.info, "webhook_sent", [("batch", batch)])
        case .webhook(let batch, let error?):
            return (.warning, "webhook_failed", [("batch", batch), ("error", error.description)])
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
        case .succeeded, .cancelled: .debug
        case .retried, .stale, .busy: .warning
        case .failed: .error
        }
    }

    private static func fields(_ report: AttemptReport) -> Fields {
        var fields: Fields = [
            ("job", report.job.id), ("batch", report.job.batch), ("attempt", report.job.attempt),
            ("url", LoggedURL.text(report.job.url)), ("origin", LoggedURL.origin(report.job.url)),
            ("decision", word(report.decision)),
        ]
        for stage in report.load.timing.stages { fields.append(("\(stage.name)_ms", stage.time.milliseconds)) }
        fields.append(("bytes_in", report.load.bytesIn))
        if let status = report.load.httpStatus { fields.append(("status", status)) }
        if report.load.isUnchanged { fields.append(("unchanged", true)) }
        if report.load.reused > 0 { fields.append(("reused", report.load.reused)) }
        if let failure = report.failure {
            fields += [("error", "\(failure.domain) \(failure.code)"), ("message", failure.message)]
        }
        return fields
    }

    /// A decision's name in logs and metrics.
    static func word(_ decision: Decision) -> String {
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

extension WorkerEvent {
    /// Whether the database has answered.
    fileprivate var isAnswer: Bool {
        switch self {
        case .started, .claimed, .completed, .queueAvailable: true
        default: false
        }
    }
}

/// Limits log lines about database failures: the first of an outage, then at most one per ten seconds.
struct OutageLines {
    private static let pause = Duration.seconds(10)

    /// Start of the outage; nil without one.
    private var since: ContinuousClock.Instant?
    private var written: ContinuousClock.Instant?
    /// Failures since the last line.
    private var failures = 0

    /// A call failed. Returns the failures to report; nil if no line is due.
    mutating func fail(at now: ContinuousClock.Instant) -> Int? {
        since = since ?? now
        failures += 1
        if let written, now - written < Self.pause { return nil }
        written = now
        defer { failures = 0 }
        return failures
    }

    /// The database answers again. Returns the outage's duration; nil if there was none.
    mutating func end(at now: ContinuousClock.Instant) -> Duration? {
        defer { self = OutageLines() }
        return since.map { now - $0 }
    }
}
