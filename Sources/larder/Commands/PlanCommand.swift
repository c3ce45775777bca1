import Glibc
import ImageModel
import JobQueue
import Prefetcher
import Transcoder

extension Command {
    static let plan = Command(
        words: ["plan"], operands: "FILE",
        summary: "Print the plan for the variants of a local file, and its estimated cost",
        discussion: """
            Only the header is read. The estimates serve to compare images and pipelines. --json prints the plan as one
            object.
            """,
        examples: ["larder plan in.jpg --variant '{\"name\":\"v\",\"transform\":[{\"type\":\"blur\",\"radius\":5}]}'"],
        options: [
            Option("pipeline", .value("NAME"), "a pipeline of the database"),
            Option("variant", .texts("JSON"), "a variant, instead of a pipeline; repeatable"),
            Option("options", .value("LIST"), "SDWebImage's options, such as TransformAnimatedImage"),
            Settings.databaseOption,
        ] + Limits.transcodeOptions
    ) { arguments in
        let path = try arguments.operand("FILE", of: "plan")
        let options = try EnqueueOptions.loadOptions(try arguments.value("options"))
        var variants = try VariantJSON.variants(try arguments.list("variant"))
        if let name = try arguments.value("pipeline") {
            guard variants.isEmpty else { throw CommandError.usage("--pipeline and --variant exclude each other") }
            let stored = try await Settings(arguments).openQueue().pipeline(named: name)
            variants = try Pipeline(json: stored.spec.utf8).variants
        } else if variants.isEmpty {
            throw CommandError.usage("plan: --pipeline or --variant is required")
        }
        return try await printPlan(of: path, variants, options, arguments)
    }

    /// Prints the plan for the variants of a file as one JSON object or as lines.
    static func printPlan(
        of path: String, _ variants: [Variant], _ options: LoadOptions, _ arguments: Arguments
    ) async throws -> ExitCode {
        let source = open(path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw CommandError.file("read", path) }
        defer { close(source) }
        let pool = TranscoderPool(configuration: try Limits.transcoders(arguments))
        let plan = try await finally(pool.shutdown) {
            try await pool.plan(source, variants: variants, options: options.drawing)
        }
        try Console.show(plan, arguments, plan.lines.joined(separator: "\n"))
        return .done
    }
}
