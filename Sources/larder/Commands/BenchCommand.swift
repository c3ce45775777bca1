import Measuring

extension Command {
    static let benchQueue = Command(
        words: ["bench", "queue"], operands: "",
        summary: "Measure the queue against what bare tables allow, on a private server made for it",
        discussion: """
            Prints a line per figure: the median of the rounds and, where there is a limit, the ratio to what pgbench does
            on bare narrow tables in the same rounds (lines bare_...). settle_N claims and settles N jobs at a time with one
            stored file each; noop_end_to_end is a worker with \(BenchWorker.slots) slots whose jobs do nothing; enqueue_cli
            is the whole process 'larder enqueue --from'. The server has 512 MB of shared buffers and the durability of
            every Postgres; it goes when the command ends. Four minutes, 2 GB in the temporary directory (TMPDIR).
            """,
        options: [
            Option("rounds", .value("N"), "rounds that count, after one warm-up, default 5"),
            Option(
                "jobs", .value("N"),
                "jobs of a round, default 200000, at least 2000; five times as many fill the crowded queue"),
            Option("save", .value("DIR"), "write DIR/<date>-queue.json and the table of all results, DIR/README.md"),
        ]
    ) { arguments in
        let rounds = try arguments.number("rounds", in: 1...100) ?? 5
        let jobs = try arguments.number("jobs", in: 2_000...10_000_000) ?? 200_000
        let save = try arguments.value("save")
        #if DEBUG
            Console.note("larder: a debug build: these figures mean nothing")
            guard save == nil else { throw CommandError.usage("--save needs a release build") }
        #endif
        let load = MachineFacts.load
        let server = try await BenchServer()
        let measurements: [MeasuredFigure]
        do {
            measurements = try await QueueBench(server, jobs: jobs, rounds: rounds).run { Console.note($0) }
        } catch {
            try? await server.stop()
            throw error
        }
        try await server.stop()
        for measurement in measurements {
            Console.line(arguments.flag("json") ? try measurement.jsonLine : measurement.textLine)
        }
        if let save {
            let facts = await MachineFacts.gathered(load: load).merging(["postgres": server.version]) { $1 }
            let result = SavedResult(
                benchmark: "queue", rounds: rounds,
                input: "\(Double(jobs).short) jobs a round, one connection, \(BenchWorker.slots) slots for no-op jobs",
                machine: facts, measurements: measurements)
            try result.write(to: save)
            try ResultTable.rewrite(in: save)
        }
        return .done
    }
}
