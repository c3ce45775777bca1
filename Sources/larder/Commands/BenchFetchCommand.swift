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
            Option("downloads", .value("N"), "downloads of a round, default 2000")
        ] + BenchRun.options("fetch")
    ) { arguments in
        let run = try BenchRun(arguments)
        let downloads = try arguments.number("downloads", in: 1...100_000) ?? 2_000
        try await run.report(
            try await FetchBench(downloads: downloads, rounds: run.rounds).run(), of: "fetch",
            input: "\(Double(downloads).short) downloads of 4 to 60 kB a round, \(FetchBench.slots) asked for at once")
        return .done
    }
}
