import Measuring

extension Command {
    static let benchFetch = Command(
        words: ["bench", "fetch"], operands: "",
        summary: "Measure downloads from one origin, an nginx made for it, beside curl --parallel",
        discussion: """
            fetch_h1 and fetch_h2 are downloads of 4 to 60 kB into files, over HTTP/1.1 and over HTTP/2 with TLS, by at most
            \(FetchBench.connections) connections; curl_h1 and curl_h2 are curl doing the same with as many transfers at
            once. cpu_... is the processor time of the whole process for one download, thread_... that of the network
            thread, in which libcurl runs. memory_64_bodies is the peak above idle with \(FetchBench.largeBodies) bodies of
            30 MB at once. Needs nginx, openssl and curl.
            """,
        options: [
            Option("rounds", .value("N"), "rounds that count, after one warm-up, default 5"),
            Option("downloads", .value("N"), "downloads of a round, default 2000"),
            Option("save", .value("DIR"), "write DIR/<date>-fetch.json and the table of all results, DIR/README.md"),
        ]
    ) { arguments in
        let rounds = try arguments.number("rounds", in: 1...100) ?? 5
        let downloads = try arguments.number("downloads", in: 1...100_000) ?? 2_000
        let save = try arguments.value("save")
        #if DEBUG
            Console.note("larder: a debug build: these figures mean nothing")
            guard save == nil else { throw CommandError.usage("--save needs a release build") }
        #endif
        let load = MachineFacts.load
        let measurements = try await FetchBench(downloads: downloads, rounds: rounds).run()
        for measurement in measurements {
            Console.line(arguments.flag("json") ? try measurement.jsonLine : measurement.textLine)
        }
        if let save {
            let facts = await MachineFacts.gathered(load: load)
            let result = SavedResult(
                benchmark: "fetch", rounds: rounds,
                input:
                    "\(Double(downloads).short) downloads of 4 to 60 kB a round, \(FetchBench.slots) asked for at once",
                machine: facts, measurements: measurements)
            try result.write(to: save)
            try ResultTable.rewrite(in: save)
        }
        return .done
    }
}
