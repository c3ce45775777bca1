import Glibc
import Prefetcher
import Transcoder

extension Command {
    static let fetch = Command(
        words: ["fetch"], operands: "URL",
        summary: "Download one URL, by the worker's rules, limits, retries and errors; no database",
        examples: ["larder fetch https://example.com/a.jpg -o a.jpg"],
        options: [
            Option("output", short: "o", .value("FILE"), "where the body goes; without it only the facts are printed"),
            Option("retries", .value("N"), "tries after the first, default 3"),
            Option(
                "retry-base", .value("DURATION"),
                "the first retry waits up to so long, each later one up to 4 times as long; default 1s"),
            Option("max-runtime", .value("DURATION"), "end after so long in all, default 45s"),
            Limits.formatOption,
        ] + Limits.fetchOptions
    ) { arguments in
        struct Line: Encodable {
            let url: String
            let httpStatus: Int
            let bytes: Int64
            let sha256: String
            let format: String?
            let redirects: Int
            let path: String?
        }
        let operands = try arguments.operands()
        guard operands.count == 1 else { throw CommandError.usage("fetch: one URL, please") }
        let url = try SourceURL(operands[0])
        var policy = RetryPolicy()
        if let retries = try arguments.number("retries", in: 0...99) { policy.retries = retries }
        if let base = try arguments.duration("retry-base") { policy.base = base }
        let limit = try arguments.duration("max-runtime") ?? .seconds(45)
        var accepted = TranscodeLimits()
        accepted.formats = try Limits.formats(arguments)
        let gate = FormatGate(accepted)
        let output = try arguments.value("output")
        let file = try output.map { (path) throws(CommandError) in try OutputFile(path) } ?? OutputFile.scratch()
        let descriptor = file.descriptor
        let downloader = Downloader(try Limits.fetch(arguments), resolver: try Limits.resolver(arguments))
        let body = try await Retries(policy: policy, deadline: .now + limit).run { () async throws(FetchError) in
            // A try before this one may have left part of a body.
            ftruncate(descriptor, 0)
            lseek(descriptor, 0, SEEK_SET)
            return try await downloader.fetch(
                FetchRequest(
                    url: url, descriptor: descriptor, accepts: gate.judge))
        }
        let format = ImageFormat.recognise(file.prefix(ImageFormat.recognisedBytes))
        if output != nil { try file.keep() }
        if arguments.flag("json") {
            try Console.json(
                Line(
                    url: ShownURL.text(operands[0]), httpStatus: body.status, bytes: body.bytes, sha256: body.sha256Hex,
                    format: format?.name, redirects: body.redirects, path: output))
        } else {
            Console.line(
                "\(body.status), \(format?.name ?? "?"), \(ByteCount(Int(body.bytes)).text), \(body.sha256Hex)")
        }
        return .done
    }
}
