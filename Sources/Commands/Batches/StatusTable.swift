import CommandLine
import Dashboard
import ImageModel
import JobQueue
import Reports
import Telemetry
import Terminal

/// The tables that `status` prints instead of batches; each is an option of the same name.
enum StatusTable: String, CaseIterable {
    case queues, origins, schedules, health, metrics

    /// The given table option; nil without one.
    ///
    /// - Throws: wrong usage for two of them, for one with a BATCH, URL or job, and for another table's option.
    init?(_ arguments: Arguments) throws(CommandError) {
        let given = Self.allCases.filter { arguments.isGiven($0.rawValue) }
        for (option, table) in [("warnings", Self.health), ("textfile", .metrics)]
        where arguments.isGiven(option) && given != [table] {
            throw .usage("status: --\(option) is for --\(table.rawValue) only")
        }
        guard let first = given.first else { return nil }
        if given.count > 1 {
            throw .usage("status: --\(first.rawValue) and --\(given[1].rawValue) exclude each other")
        }
        for option in ["job", "watch", "from", "pipeline"] where arguments.isGiven(option) {
            throw .usage("status: --\(first.rawValue) and --\(option) exclude each other")
        }
        if let operand = try arguments.operands().first {
            throw .usage("status: --\(first.rawValue) takes no BATCH or URL: '\(ShownURL.masked(operand))'")
        }
        if first == .metrics, arguments.flag("json") {
            throw .usage("status: --metrics prints Prometheus' text format, there is no --json")
        }
        self = first
    }

    func show(_ arguments: Arguments) async throws -> ExitCode {
        let queue = try await Settings(arguments).openQueue()
        switch self {
        case .queues:
            for queue in try await queue.reports.queues() {
                try Console.show(queue.json, arguments, QueueLine.text(queue))
            }
        case .origins: try await Self.showOrigins(of: queue, arguments)
        case .schedules:
            for schedule in try await queue.reports.schedules() {
                try Console.show(schedule.json, arguments, ScheduleLine.text(schedule))
            }
        case .health: return try await HealthLine.showAll(of: queue, arguments)
        case .metrics: try await Self.writeMetrics(of: queue, arguments)
        }
        return .done
    }

    private static func showOrigins(of queue: PostgresJobQueue, _ arguments: Arguments) async throws {
        for held in try await queue.reports.heldOrigins() {
            let seconds = Int(held.remaining.components.seconds)
            let failure = held.failure
            let error = failure.map { "\t\(FailureAdvice.text(domain: $0.domain, code: $0.code))" } ?? ""
            try Console.show(
                held.json, arguments, "\(held.origin)\t\(held.reason.rawValue)\t\(seconds) s\(error)")
        }
        for limited in try await queue.reports.limitedOrigins() {
            try Console.show(limited.json, arguments, QueueLine.text(limited))
        }
    }

    private static func writeMetrics(of queue: PostgresJobQueue, _ arguments: Arguments) async throws {
        var page = MetricsPage()
        page.add("larder_build_info", .gauge, "The version of the program.", [([("version", Larder.version)], 1)])
        QueueMetrics(try await queue.reports.gauges()).write(to: &page)
        try await RunMetrics(of: queue).write(to: &page)
        if let path = try arguments.value("textfile") {
            let file = try OutputFile(path)
            try file.write(Array(page.text().utf8))
            try file.keep()
        } else {
            Console.write(page.text())
        }
    }
}

extension HealthLine {
    /// Prints the findings, most severe first.
    ///
    /// - Returns: `.failed` for an error, with `--warnings` also for a warning.
    fileprivate static func showAll(of queue: PostgresJobQueue, _ arguments: Arguments) async throws -> ExitCode {
        let severities: [HealthFinding.Severity] = arguments.flag("warnings") ? [.error, .warning] : [.error]
        let lines = try await all(of: queue)
        if lines.isEmpty && !arguments.flag("json") { Console.line("nothing is wrong") }
        for line in lines { try Console.show(line.json, arguments, "\(line.severity.rawValue): \(line.text)") }
        return lines.contains { severities.contains($0.severity) } ? .failed : .done
    }
}
