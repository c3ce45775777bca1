import JobQueue
import Measuring

extension Command {
    static let benchQueue = Command(
        words: ["bench", "queue"], operands: "",
        summary: "Measure the queue against what bare tables allow, on a private server made for it",
        discussion: """
            Prints a line per figure: the median of the rounds and, where there is a limit, the ratio to what pgbench does
            on bare narrow tables in the same rounds (lines bare_...). settle_N claims and completes N jobs at a time with one
            stored file each; noop_end_to_end is a worker with \(BenchWorker.slots) slots whose jobs do nothing; enqueue_cli
            is the whole process 'larder enqueue --from'. The server has 512 MB of shared buffers and the durability of
            every Postgres; it goes when the command ends. Four minutes, 2 GB in the temporary directory (TMPDIR).
            """,
        options: [
            Option(
                "jobs", .value("N"),
                "jobs of a round, default 150000, at least 2000; ten times as many, at most a million, fill the crowded queue"
            )
        ] + BenchRun.options("queue")
    ) { arguments in
        let run = try BenchRun(arguments)
        let jobs = try arguments.number("jobs", in: 2_000...10_000_000) ?? 150_000
        let server = try await BenchServer()
        let measurements: [MeasuredFigure]
        do {
            measurements = try await QueueBench(server, jobs: jobs, rounds: run.rounds).run { Console.note($0) }
        } catch {
            try? await server.stop()
            throw error
        }
        try await server.stop()
        try await run.report(
            measurements, of: "queue",
            input: "\(Double(jobs).short) jobs a round, one connection, \(BenchWorker.slots) slots for no-op jobs",
            facts: ["postgres": server.version])
        return .done
    }

    static let benchDrain = Command(
        words: ["bench", "drain"], operands: "",
        summary: "Measure how fast one worker drains jobs that do nothing, on a given server",
        discussion: """
            To be compared with other queues on the same server in the same minutes. Makes a database of its own there, and
            drops it. enqueue is by 1,000 URLs a call; drain is a worker with everything about it, whose jobs do nothing.
            """,
        options: [
            Option("jobs", .value("N"), "how many, default 100000, at least 2000"),
            Option("slots", .value("N"), "jobs the worker holds at once, default \(BenchWorker.slots)"),
            Option("database", .value("URL"), "the server, where this user may make databases"),
        ]
    ) { arguments in
        let jobs = try arguments.number("jobs", in: 2_000...10_000_000) ?? 100_000
        let slots = try arguments.number("slots", in: 1...10_000) ?? BenchWorker.slots
        guard let server = try arguments.value("database") else {
            throw CommandError.usage("bench drain: --database URL says on which server")
        }
        let database = try await BenchDatabase(on: server)
        let values: Rounds
        do {
            values = try await drainOnce(database.url, jobs: jobs, slots: slots)
        } catch {
            try? await database.drop()
            throw error
        }
        try await database.drop()
        for figure in try values.measurements([Figure("enqueue", "jobs/s"), Figure("drain", "jobs/s")]) {
            Console.line(arguments.flag("json") ? try figure.jsonLine : figure.textLine)
        }
        return .done
    }

    private static func drainOnce(_ url: String, jobs: Int, slots: Int) async throws -> Rounds {
        let worker = BenchWorker(databaseURL: url)
        let enqueue = try await ContinuousClock().rate(of: jobs) {
            for start in stride(from: 0, to: jobs, by: 1_000) {
                try await worker.enqueue(start..<min(jobs, start + 1_000), "drain")
            }
        }
        var values = Rounds()
        values.add(["enqueue": enqueue, "drain": try await worker.drainRate(expecting: jobs, slots: slots)])
        if let broken = try await worker.queue.check().first {
            throw MeasuringError("the queue is not sound: \(broken.invariant): \(broken.detail)")
        }
        await worker.queue.close()
        return values
    }
}
