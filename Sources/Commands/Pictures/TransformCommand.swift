import CommandLine
import Concurrency
import Glibc
import ImageModel
import JobQueue
import Prefetcher
import Terminal
import Transcoder

extension Command {
    static let transform = Command(
        words: ["transform"], operands: "IN",
        summary: "Make one variant of one local file, through the same transcoder; no network, no database",
        discussion: """
            --explain makes nothing. It reads the header of the file and prints the steps of each variant and estimates of
            time and memory, which serve to compare images and pipelines; with --json as one object. It takes several
            variants, or a pipeline of the database.
            """,
        examples: [
            "larder transform in.jpg -o out.webp --variant thumb=200x200:webp",
            "larder transform in.jpg -o out --variant '{\"name\":\"v\",\"trim\":{},\"format\":\"auto\"}'",
            "larder transform in.jpg --explain "
                + "--variant '{\"name\":\"v\",\"transform\":[{\"type\":\"blur\",\"radius\":5}]}'",
        ],
        options: [
            Option("output", short: "o", .value("FILE"), "the file to write; required without --explain"),
            VariantJSON.option("the variant to make; repeatable with --explain"),
            Option("explain", "print how the variants would be made and their estimated cost, without making them"),
            Option("pipeline", .value("NAME"), "with --explain, a pipeline of the database instead of variants"),
            Option("options", .value("LIST"), "SDWebImage's options, such as TransformAnimatedImage"),
            Settings.databaseOption,
        ] + Limits.transcodeOptions
    ) { arguments in
        let path = try arguments.operand("IN", of: "transform")
        let explains = arguments.flag("explain")
        guard let output = try arguments.output(of: "transform") ?? (explains ? "" : nil) else {
            throw CommandError.usage("transform: --output (-o) is required")
        }
        let options = try EnqueueOptions.loadOptions(try arguments.value("options"))
        let pipeline = try arguments.value("pipeline")
        var variants = try VariantJSON.variants(try arguments.list("variant"))
        guard pipeline == nil || variants.isEmpty else {
            throw CommandError.usage("transform: --pipeline and --variant exclude each other")
        }
        guard pipeline != nil || !variants.isEmpty else {
            throw CommandError.usage("transform: --variant is required")
        }
        if explains {
            if let pipeline {
                let stored = try await Settings(arguments).openQueue().reports.pipeline(named: pipeline)
                variants = try Pipeline(json: stored.spec.utf8).variants
            }
            return try await explain(path, variants, options, arguments)
        }
        guard pipeline == nil, variants.count == 1, let variant = variants.first else {
            throw CommandError.usage("transform: without --explain one --variant is made, not several")
        }
        try VariantJSON.checking("--variant") { () throws(VariantError) in try variant.validateSupported() }
        return try await make(variant, of: path, output, options, arguments)
    }

    private static func make(
        _ variant: Variant, of path: String, _ output: String, _ options: LoadOptions, _ arguments: Arguments
    ) async throws -> ExitCode {
        let source = try opened(path)
        defer { close(source) }
        let pool = TranscoderPool(configuration: try Limits.transcoders(arguments))
        let file = try OutputFile(output)
        let report = try await pool.transcode(
            TranscodeRequest(
                source: source, variants: [variant], outputs: [file.descriptor],
                options: options.drawing))
        await pool.shutdown()
        let made = try report.variants[0].get()
        try file.keep()
        try Console.show(
            [
                "path": output, "format": made.format.name, "width": made.width, "height": made.height,
                "bytes": made.bytes, "copied": made.copied, "quality": made.quality, "ssim": made.ssim,
                "exceedsMaxBytes": made.exceedsMaxBytes,
            ], arguments, output: output,
            "\(output): \(made.format.name), \(made.width)×\(made.height), \(ByteCount(made.bytes).text)"
                + (made.exceedsMaxBytes ? ", more than maxBytes" : ""))
        return .done
    }

    /// The caller closes the descriptor.
    private static func opened(_ path: String) throws(CommandError) -> Int32 {
        let source = open(path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw CommandError.file("read", path) }
        var status = stat()
        if fstat(source, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            close(source)
            errno = EISDIR
            throw CommandError.file("read", path)
        }
        return source
    }

    /// Prints the plan for a file's variants as one JSON object or as lines.
    private static func explain(
        _ path: String, _ variants: [Variant], _ options: LoadOptions, _ arguments: Arguments
    ) async throws -> ExitCode {
        let source = try opened(path)
        defer { close(source) }
        let pool = TranscoderPool(configuration: try Limits.transcoders(arguments))
        let plan = try await finally(pool.shutdown) {
            try await pool.plan(source, variants: variants, options: options.drawing)
        }
        try Console.show(plan, arguments, plan.lines.joined(separator: "\n"))
        return .done
    }
}
