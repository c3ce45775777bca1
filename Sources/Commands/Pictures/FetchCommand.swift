import CommandLine
import Concurrency
import Downloader
import Glibc
import ImageModel
import Prefetcher
import Reports
import Terminal
import Transcoder

extension Command {
    static let fetch = Command(
        words: ["fetch"], operands: "URL",
        summary: "Download one URL with the rules, limits, retries and errors of the worker; no database",
        discussion: """
            With --if-none-match or --if-modified-since the origin may respond with status 304: nothing is written, and the FILE of
            --output stays unchanged.
            """,
        examples: [
            "larder fetch https://example.com/a.jpg -o a.jpg",
            "larder fetch https://img.example.com/a.jpg --credentials profiles.json --profile cdn --robots refuse",
        ],
        options: [
            Option("output", short: "o", .value("FILE"), "write the body to FILE; without it the body is discarded"),
            Option(
                "partial", .value("DIR"),
                "while the body arrives, write pictures of what is there to DIR: 001.jpeg, 002.jpeg and so on"),
            Option("retries", .value("N"), "attempts after the first, default 3"),
            Option(
                "retry-base", .value("DURATION"),
                "longest wait before the first retry, four times as long before each further one; default 1s"),
            Option("max-runtime", .value("DURATION"), "time limit for all attempts, default 45s"),
            Option("profile", .value("NAME"), "credential profile of --credentials to send"),
            Option("if-none-match", .value("ETAG"), "ETag of the present copy, quotes included"),
            Option("if-modified-since", .value("DATE"), "Last-Modified of the present copy"),
            Option("allow-invalid-certificates", "accept any certificate"),
            Limits.formatOption,
        ] + Limits.fetchOptions + Limits.downloadOptions + ObjectStoreOptions.server
    ) { arguments in
        // An empty URL is the same error as in a worker.
        let operands = try arguments.operands()
        guard operands.count == 1 else { throw CommandError.usage("fetch: exactly one URL is required") }
        let url = operands[0]
        var policy = RetryPolicy()
        if let retries = try arguments.number("retries", in: 0...99) { policy.retries = retries }
        if let base = try arguments.duration("retry-base") { policy.base = base }
        let limit = try arguments.duration("max-runtime") ?? .seconds(45)
        var request = try request(url, arguments)
        let partial = try PartialFiles(arguments)
        if partial != nil { request.pieceBytes = PartialImages.pieceBytes }
        let configuration = try Limits.fetch(arguments)
        if let profile = request.credentials, configuration.credentials[profile] == nil {
            throw CommandError.usage("--profile: '\(profile)' is not a profile of --credentials")
        }
        let downloader = ImageDownloader(configuration, resolver: try Limits.resolver(arguments))
        let objects = try BucketSource(arguments, downloader, configuration.limits)
        let files = try AllowedPaths.source(arguments, configuration.limits)
        let output = try arguments.output(of: "fetch")
        let file = try output.map { (path) throws(CommandError) in try OutputFile(path) } ?? OutputFile.scratch()
        let descriptor = file.descriptor
        let download = { [request] () async throws in
            try await Retries(policy: policy, deadline: .now + limit).run { () async throws(FetchError) in
                // An earlier attempt may have written part of the body.
                ftruncate(descriptor, 0)
                lseek(descriptor, 0, SEEK_SET)
                if files.canLoad(url) { return try await files.fetch(request, into: descriptor) }
                return objects.canLoad(url)
                    ? try await objects.fetch(request, into: descriptor)
                    : try await downloader.fetch(request, into: descriptor)
            }
        }
        let response: FetchResponse
        if let partial {
            response = try await partial.during(descriptor, download)
        } else {
            response = try await download()
        }
        var line: JSONObject = [
            "url": ShownURL.masked(url), "httpStatus": response.status, "bytes": response.bytes,
            "redirects": response.redirects,
            "unchanged": response.isNotModified, "etag": response.etag, "lastModified": response.lastModified,
            "robots": response.robots, "sha256": nil, "format": nil, "path": nil,
        ]
        if response.isNotModified {
            try Console.show(line, arguments, output: output, "304, unchanged")
            return .done
        }
        let prefix = file.prefix(ImageFormat.recognisedBytes)
        var known = TranscodeLimits()
        known.coders = arguments.file?.coders ?? []
        let format = known.coder(of: prefix)?.name ?? ImageFormat.recognise(prefix)?.name
        let digest = SHA256Digest.hex(response.sha256)
        if output != nil { try file.keep() }
        (line["sha256"], line["format"], line["path"]) = (digest, format, output)
        let pictures = try partial?.written() ?? []
        if partial != nil { line["partial"] = pictures.map(\.object) }
        let robots = response.robots.map { ", robots: \($0)" } ?? ""
        let status = response.status.map { "\($0), " } ?? ""
        try Console.show(
            line, arguments, output: output,
            pictures.map { "\($0.line)\n" }.joined()
                + "\(status)\(format ?? "?"), \(ByteCount(response.bytes).text), \(digest)\(robots)")
        return .done
    }

    private static func request(_ url: String, _ arguments: Arguments) throws(CommandError) -> FetchRequest {
        var accepted = TranscodeLimits()
        accepted.formats = try Limits.formats(arguments)
        accepted.coders = arguments.file?.coders ?? []
        var request = FetchRequest(url)
        request.inspects = FormatGate(accepted).inspect
        request.credentials = try arguments.value("profile")
        request.validators = Validators(
            etag: try arguments.value("if-none-match"), lastModified: try arguments.value("if-modified-since"))
        request.allowsInvalidCertificates = arguments.flag("allow-invalid-certificates")
        return request
    }
}

/// Writes the partial images of a download into a directory.
private struct PartialFiles: Sendable {
    struct Picture: Sendable {
        let path: String
        let image: PartialImage

        var object: JSONObject {
            [
                "path": path, "format": image.format.name, "width": image.width, "height": image.height,
                "bytes": image.bytes.count, "received": image.received,
            ]
        }

        var line: String {
            "\(path): \(image.format.name), \(image.width)×\(image.height), \(ByteCount(image.bytes.count).text) "
                + "after \(ByteCount(image.received).text)"
        }
    }

    private let directory: String
    private let pool: TranscoderPool
    private let pictures = Locked<Result<[Picture], CommandError>>(.success([]))

    /// Nil without the option.
    init?(_ arguments: Arguments) throws(CommandError) {
        guard let directory = try arguments.value("partial") else { return nil }
        self.directory = directory
        guard mkdir(directory, 0o777) == 0 || errno == EEXIST else { throw .file("create", directory) }
        var configuration = try Limits.transcoders(arguments)
        configuration.count = 1
        pool = TranscoderPool(configuration: configuration)
    }

    func during(_ file: Int32, _ download: () async throws -> FetchResponse) async throws -> FetchResponse {
        let images = PartialImages(nil, by: pool) { image in pictures.withLock { $0 = write(image, after: $0) } }
        return try await finally(pool.shutdown) { try await images.during(file, download) }
    }

    private func write(
        _ image: PartialImage, after written: Result<[Picture], CommandError>
    ) -> Result<[Picture], CommandError> {
        Result { () throws(CommandError) in
            var pictures = try written.get()
            // Three digits.
            let path = "\(directory)/\(String(1000 + image.number).dropFirst()).\(image.format.name)"
            let file = try OutputFile(path)
            try file.write(image.bytes)
            try file.keep()
            pictures.append(Picture(path: path, image: image))
            return pictures
        }
    }

    /// - Throws: why a picture could not be written.
    func written() throws(CommandError) -> [Picture] { try pictures.withLock { $0 }.get() }
}
