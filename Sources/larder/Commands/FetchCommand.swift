import Downloader
import Glibc
import ImageModel
import Prefetcher
import Transcoder

extension Command {
    static let fetch = Command(
        words: ["fetch"], operands: "URL",
        summary: "Download one URL, by the worker's rules, limits, retries and errors; no database",
        discussion: """
            With what is known of a copy (--if-none-match, --if-modified-since) an origin may answer that it is still good:
            status 304, nothing is written, and a FILE of --output stays as it is.
            """,
        examples: [
            "larder fetch https://example.com/a.jpg -o a.jpg",
            "larder fetch https://img.example.com/a.jpg --credentials profiles.json --profile cdn --robots refuse",
        ],
        options: [
            Option("output", short: "o", .value("FILE"), "where the body goes; without it only the facts are printed"),
            Option("retries", .value("N"), "tries after the first, default 3"),
            Option(
                "retry-base", .value("DURATION"),
                "the first retry waits up to so long, each later one up to 4 times as long; default 1s"),
            Option("max-runtime", .value("DURATION"), "end after so long in all, default 45s"),
            Option("profile", .value("NAME"), "the credential profile to send, one of --credentials"),
            Option("if-none-match", .value("ETAG"), "the ETag of a copy at hand, with its quotes"),
            Option("if-modified-since", .value("DATE"), "the Last-Modified of a copy at hand, as it was sent"),
            Option("allow-invalid-certificates", "check no certificate"),
            Limits.formatOption,
        ] + Limits.fetchOptions + Limits.downloadOptions
    ) { arguments in
        let operands = try arguments.operands()
        guard operands.count == 1 else { throw CommandError.usage("fetch: one URL, please") }
        let url = try SourceURL(operands[0])
        var policy = RetryPolicy()
        if let retries = try arguments.number("retries", in: 0...99) { policy.retries = retries }
        if let base = try arguments.duration("retry-base") { policy.base = base }
        let limit = try arguments.duration("max-runtime") ?? .seconds(45)
        let wanted = try OneDownload(arguments)
        let output = try arguments.value("output")
        let file = try output.map { (path) throws(CommandError) in try OutputFile(path) } ?? OutputFile.scratch()
        let descriptor = file.descriptor
        let (body, robots) = try await Retries(policy: policy, deadline: .now + limit).run {
            () async throws(FetchError) in
            // A try before this one may have left part of a body.
            ftruncate(descriptor, 0)
            lseek(descriptor, 0, SEEK_SET)
            return try await wanted.fetch(url, into: descriptor)
        }
        let format = body.isNotModified ? nil : ImageFormat.recognise(file.prefix(ImageFormat.recognisedBytes))
        if output != nil && !body.isNotModified { try file.keep() }
        if arguments.flag("json") {
            try Console.json(
                FetchLine(
                    url: ShownURL.text(operands[0]), httpStatus: body.status, bytes: body.bytes,
                    sha256: body.isNotModified ? nil : body.sha256Hex, format: format?.name, redirects: body.redirects,
                    path: body.isNotModified ? nil : output, unchanged: body.isNotModified, etag: body.etag,
                    lastModified: body.lastModified, robots: robots))
        } else if body.isNotModified {
            Console.line("\(body.status), unchanged")
        } else {
            Console.line(
                "\(body.status), \(format?.name ?? "?"), \(ByteCount(Int(body.bytes)).text), \(body.sha256Hex)"
                    + (robots.map { ", robots: \($0)" } ?? ""))
        }
        return .done
    }
}

/// What `fetch --json` prints.
private struct FetchLine: Encodable {
    let url: String
    let httpStatus: Int
    let bytes: Int64
    let sha256: String?
    let format: String?
    let redirects: Int
    let path: String?
    /// The copy that the options described is still good.
    let unchanged: Bool
    let etag: String?
    let lastModified: String?
    /// What the origin wants of robots, when it said anything.
    let robots: String?
}

/// The download of `fetch`, as its options want it.
private struct OneDownload: Sendable {
    private let downloader: ImageDownloader
    private let robots: RobotsCache
    private let gate: FormatGate
    private let profile: String?
    private let known: Revalidation
    private let allowsInvalidCertificates: Bool

    init(_ arguments: Arguments) throws(CommandError) {
        let configuration = try Limits.fetch(arguments)
        var accepted = TranscodeLimits()
        accepted.formats = try Limits.formats(arguments)
        gate = FormatGate(accepted)
        profile = try arguments.value("profile")
        if let profile, configuration.credentials[profile] == nil {
            throw .usage("--profile: '\(profile)' is none of the profiles of --credentials")
        }
        downloader = ImageDownloader(
            configuration, resolver: try Limits.resolver(arguments),
            origins: OriginLimiter(try Limits.origins(arguments)))
        robots = RobotsCache(try Limits.robots(arguments), downloader: downloader)
        known = Revalidation(
            etag: try arguments.value("if-none-match"), lastModified: try arguments.value("if-modified-since"))
        allowsInvalidCertificates = arguments.flag("allow-invalid-certificates")
    }

    /// Downloads, and tells what the origin wants of robots.
    func fetch(_ url: SourceURL, into file: Int32) async throws(FetchError) -> (FetchedBody, String?) {
        let verdict = RobotsVerdict(robots)
        var request = FetchRequest(url: url, descriptor: file, accepts: gate.judge)
        request.inspects = gate.inspect
        request.admits = verdict.admits
        request.credentials = profile
        request.revalidation = known
        request.allowsInvalidCertificates = allowsInvalidCertificates
        let body = try await downloader.fetch(request)
        return (body, try verdict.said(of: body))
    }
}
