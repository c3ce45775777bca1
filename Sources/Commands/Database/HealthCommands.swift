import CommandLine
import Dashboard
import JobQueue
import Reports
import Terminal

extension Command {
    static let health = Command(
        words: ["health"], operands: "",
        summary: "Print what is wrong with the queue, its workers and its database",
        discussion: """
            Prints nothing but 'nothing is wrong' when all is well. The exit code is 1 for an error, as with 'status
            --health' and 'doctor'; with --warnings also for a warning, such as jobs that wait and no worker.
            """,
        examples: ["larder health", "larder health --json --warnings"],
        options: [
            Option("warnings", "end with exit code 1 for a warning, too"), Settings.databaseOption,
        ]
    ) { arguments in
        try await HealthLine.showAll(arguments, failing: arguments.flag("warnings") ? [.error, .warning] : [.error])
    }

    static let metrics = Command(
        words: ["metrics"], operands: "",
        summary: "Print the metrics of the queues in Prometheus' text format, for runs from cron",
        discussion: """
            A worker serves the same families with its own ones under --listen. --textfile is for the textfile collector of
            node_exporter: the file appears complete or not at all. It also has the outcomes, end and duration of the last
            run of the 50 batch names that ended last.
            """,
        examples: ["larder metrics", "larder metrics --textfile larder.prom"],
        options: [
            Option("textfile", .value("FILE"), "write FILE instead of standard output"), Settings.databaseOption,
        ]
    ) { arguments in
        if arguments.flag("json") {
            throw CommandError.usage("metrics: the output is Prometheus' text format, there is no --json")
        }
        var page = MetricsText()
        page.add("larder_build_info", .gauge, "The version of the program.", [([("version", Larder.version)], 1)])
        let queue = try await Settings(arguments).openQueue()
        QueueMetrics(try await queue.reports.gauges()).write(to: &page)
        try await RunMetrics(of: queue).write(to: &page)
        if let path = try arguments.value("textfile") {
            let file = try OutputFile(path)
            try file.write(Array(page.text.utf8))
            try file.keep()
        } else {
            Console.write(page.text)
        }
        return .done
    }
}

extension HealthLine {
    /// Prints what is wrong, the most severe first.
    ///
    /// - Parameter severities: the severities of findings for which the exit code is 1; by default an error's.
    static func showAll(
        _ arguments: Arguments, failing severities: [HealthFinding.Severity] = [.error]
    ) async throws -> ExitCode {
        let lines = try await all(of: try await Settings(arguments).openQueue())
        if lines.isEmpty && !arguments.flag("json") { Console.line("nothing is wrong") }
        for line in lines { try Console.show(line.json, arguments, "\(line.severity.rawValue): \(line.text)") }
        return lines.contains { severities.contains($0.severity) } ? .failed : .done
    }
}
