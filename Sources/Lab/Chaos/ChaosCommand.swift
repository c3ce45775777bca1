import CommandLine
import Terminal
import Worker

extension Command {
    static let chaos = Command(
        words: ["chaos"], operands: "",
        summary: "Break workers, database, network and disks under load, and check that nothing is lost",
        discussion: """
            Starts workers of the larder in this program's directory, a small loopback origin and proxies before it and before the database, enqueues
            batches without a pause and injects the faults that --seed and --seconds determine. Throughout it reads the counts
            of all batches. Then it waits for the open jobs and checks the queue's invariants, each file of each succeeded job,
            temporary files and processes. It prints a row per fault: times injected, violations, and the time from the fault
            to the next completed job. The exit code is 0 only without a violation.

            By default the database is a private server in the temporary directory (TMPDIR), which is removed afterwards. With
            --database it is a database that holds nothing, or only what earlier runs of this command left; DATABASE_URL and
            LARDER_DATABASE_URL are not read. Immediate stops, a full disk and pooler restarts need the private server.
            Full disks and a worker without network need root; clock steps need libfaketime; pooler restarts need pgbouncer.
            A fault that is not possible is reported as skipped. A first signal ends the faults, and the run drains.
            """,
        examples: [
            "larder-lab chaos", "larder-lab chaos --seconds 3600 --workers 5 --seed 7 --json",
            "larder-lab chaos --kinds worker-kill,database-stop",
        ],
        options: [
            Option("database", .value("URL"), "an empty database to break; default: a private server"),
            Option("seconds", .value("N"), "how long faults are injected, default 90"),
            Option("seed", .value("N"), "the seed of the faults, default random"),
            Option("workers", .value("N"), "worker processes, default 3"),
            Option(
                "kinds", .values("NAME"),
                "only these faults: \(FaultKind.allCases.map(\.rawValue).joined(separator: ", "))"),
            Option(
                "old-binary", .value("PATH"),
                "an older larder, which makes the schema and works together with the newer one"),
            Option("logs", .value("DIR"), "keep the workers' logs in this directory"),
        ]
    ) { arguments in
        let options = ChaosRun.Options(
            databaseURL: arguments.isGiven("database") ? try arguments.value("database") : nil,
            seconds: try arguments.number("seconds", in: 5...86_400) ?? 90,
            seed: try arguments.number("seed", in: 0...Int.max).map(UInt64.init) ?? UInt64.random(in: 0...999_999),
            workers: try arguments.number("workers", in: 1...64) ?? 3, kinds: try FaultKind.chosen(arguments),
            oldBinary: try arguments.value("old-binary"), logs: try arguments.value("logs"))
        try await ChaosPlace.enterNamespace()
        let stop = ShutdownRequest()
        await Signals.deliver(onUnread: { stop.request(.finish) }, onSignal: stop.requestNext)
        let result = try await ChaosRun(options, stop: stop).run()
        Signals.release()
        try ChaosReport(result: result, options: options).show(json: arguments.flag("json"))
        return result.violationCount == 0 ? .done : .failed
    }
}

extension FaultKind {
    fileprivate static func chosen(_ arguments: Arguments) throws(CommandError) -> [FaultKind] {
        let names = try arguments.list("kinds").flatMap { $0.split(separator: ",").map(String.init) }
        guard !names.isEmpty else { return allCases }
        var kinds: [FaultKind] = []
        for name in names {
            guard let kind = FaultKind(rawValue: name) else {
                throw .usage("--kinds: '\(name)' is not one of \(allCases.map(\.rawValue).joined(separator: ", "))")
            }
            kinds.append(kind)
        }
        return allCases.filter(kinds.contains)
    }
}
