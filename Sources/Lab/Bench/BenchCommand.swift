import CommandLine
import JobQueue
import Measuring
import Terminal

extension Command {
    static let benchQueue = Command(
        words: ["bench", "queue"], operands: "",
        summary: "Measure the queue and compare it with bare tables in the same Postgres",
        discussion: """
            Prints a line per figure: the median of the rounds and, where there is a limit, the ratio to pgbench on narrow
            tables in the same rounds (lines bare_...). complete_N claims and completes N jobs at a time; noop_end_to_end is
            a worker with \(BenchWorker.slots) slots whose jobs do nothing; enqueue_cli is the whole process 'larder enqueue
            --from'. By default a private server is created and removed afterwards: about four minutes and 2 GB in the
            temporary directory (TMPDIR). --database measures a given server in a database of its own.
            """,
        examples: [
            "larder-lab bench queue", "larder-lab bench queue --database postgresql://db.example/postgres --rounds 1",
        ],
        options: [
            Option(
                "jobs", .value("N"),
                "jobs of a round, default 150000, at least 2000; the queue is then filled with ten times as many, at most a million"
            ),
            Option("rounds", .value("N"), "rounds after the warm-up, default 5"),
            Option("database", .value("URL"), "a server on which this user may create databases"),
            Option("save", .value("DIR"), "write DIR/<date>-queue.json and the table of all results, DIR/README.md"),
        ]
    ) { arguments in
        let jobs = try arguments.number("jobs", in: 2_000...10_000_000) ?? 150_000
        let rounds = try arguments.number("rounds", in: 1...100) ?? 5
        let directory = try resultDirectory(arguments)
        let load = MachineFacts.load
        let (figures, version) = try await BenchServer.with(on: try arguments.value("database")) { server in
            (try await QueueBench(server, jobs: jobs, rounds: rounds).run { Console.note($0) }, server.version)
        }
        for figure in figures { Console.line(arguments.flag("json") ? try figure.jsonLine : figure.textLine) }
        if let directory {
            let input = "\(Double(jobs).short) jobs a round, one connection, \(BenchWorker.slots) slots for no-op jobs"
            try await SavedResult.save(
                "queue", rounds: rounds, input: input, load: load, facts: ["postgres": version], figures, in: directory)
        }
        return .done
    }

    /// The directory of `--save`. Debug builds refuse it, as their figures mean nothing.
    static func resultDirectory(_ arguments: Arguments) throws -> String? {
        let directory = try arguments.value("save")
        #if DEBUG
            Console.note("larder-lab: a debug build: these figures mean nothing")
            guard directory == nil else { throw CommandError.usage("--save needs a release build") }
        #endif
        return directory
    }
}
