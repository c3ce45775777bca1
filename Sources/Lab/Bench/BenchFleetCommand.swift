import CommandLine
import JobQueue
import Measuring
import Terminal

extension Command {
    static let benchFleet = Command(
        words: ["bench", "fleet"], operands: "",
        summary: "Measure many workers behind a pooler, some of which die",
        discussion: """
            Starts a private server, pgbouncer in transaction mode before it, and simulated workers in this process. Each has a
            registration and two connections of its own, and sends what 'larder work' sends: claims, completions, heartbeats,
            maintenance. It claims as many jobs as it has slots, holds them until its turn comes again, completes them without
            any work and claims again; the turns are such that all workers together do --rate jobs a second. Workers that die
            break off and are replaced after a second; others do their jobs when their lease has ended. At the end the rest is
            done, and the command fails unless every job ended once and the queue's invariants hold.

            Prints a line per figure, of those with a range the median of intervals of 10 seconds. client_connections are those
            to pgbouncer, server_connections those to the server. cores_NAME is the processor time of the calls of a function
            of the queue, by pg_stat_kcache; without it by pg_stat_statements, which includes waits. machine_cores are all
            programs of the machine. The last line, on standard error, names the first limit that was reached. All files are in
            the temporary directory (TMPDIR) and are removed afterwards.
            """,
        examples: [
            "larder-lab bench fleet", "larder-lab bench fleet --workers 1000 --seconds 3600 --save Benchmarks/Results",
        ],
        options: [
            Option("workers", .value("N"), "simulated workers, default 1000, at most 5000"),
            Option("seconds", .value("N"), "how long is measured, default 60"),
            Option("rate", .value("N"), "jobs per second of all workers, default 10000; 0 for as many as they can do"),
            Option("slots", .value("N"), "jobs that a worker claims at once, default 32"),
            Option("deaths", .value("N"), "workers that die each minute, default a twentieth of them"),
            Option(
                "server-connections", .value("N"), "connections of pgbouncer to the server at most, default 50"),
            Option("save", .value("DIR"), "write DIR/<date>-fleet.json and the table of all results, DIR/README.md"),
        ]
    ) { arguments in
        var options = FleetBench.Options()
        options.workers = try arguments.number("workers", in: 1...5_000) ?? options.workers
        options.seconds = try arguments.number("seconds", in: 3...86_400) ?? options.seconds
        options.rate = try arguments.number("rate", in: 0...1_000_000) ?? options.rate
        options.slots = try arguments.number("slots", in: 1...1_000) ?? options.slots
        options.deaths = try arguments.number("deaths", in: 0...10_000) ?? options.workers / 20
        options.serverConnections =
            try arguments.number("server-connections", in: 2...1_000) ?? options.serverConnections
        let directory = try resultDirectory(arguments)
        let load = MachineFacts.load
        let (result, version) = try await FleetBench.run(options) { Console.note($0) }
        let figures = try result.figures()
        for figure in figures { Console.line(arguments.flag("json") ? try figure.jsonLine : figure.textLine) }
        if let error = result.counts.lastError {
            Console.note("\(result.counts.failed) calls failed, the last one: \(error)")
        }
        Console.note("limit: \(result.limit)")
        if let directory {
            let input =
                "\(Double(options.workers).short) workers with \(options.slots) slots, "
                + "\(Double(options.rate).short) jobs a second, \(options.deaths) deaths a minute, \(options.seconds) s"
            let facts = ["postgres": version, "limit": result.limit, "statements": result.source.rawValue]
            try await SavedResult.save(
                "fleet", rounds: result.intervals.count, input: input, load: load, facts: facts, figures, in: directory)
        }
        return .done
    }
}
