import Glibc
import ImageModel
import Prefetcher
import Transcoder

extension Command {
    static let transform = Command(
        words: ["transform"], operands: "IN",
        summary: "Make one variant of one local file, through the same transcoder; no network, no database",
        examples: [
            "larder transform in.jpg -o out.webp --variant "
                + "'{\"name\":\"v\",\"thumbnail\":{\"width\":200,\"height\":200},\"format\":\"webp\"}'",
            "larder transform in.jpg -o out --variant '{\"name\":\"v\",\"trim\":{},\"format\":\"auto\"}'",
        ],
        options: [
            Option("output", short: "o", .value("FILE"), "the file to write; required without --explain"),
            Option("variant", .value("JSON"), "the variant to make; required"),
            Option("explain", "print how the variant would be made and its estimated cost, without making it"),
            Option("options", .value("LIST"), "SDWebImage's options, such as TransformAnimatedImage"),
        ] + Limits.transcodeOptions
    ) { arguments in
        let path = try arguments.operand("IN", of: "transform")
        let explains = arguments.flag("explain")
        guard let output = try arguments.value("output") ?? (explains ? "" : nil) else {
            throw CommandError.usage("transform: --output is required")
        }
        guard let text = try arguments.value("variant") else {
            throw CommandError.usage("transform: --variant is required")
        }
        let options = try EnqueueOptions.loadOptions(try arguments.value("options"))
        let variant = try VariantJSON.variant(text, from: "--variant")
        try VariantJSON.checking("--variant") { () throws(VariantError) in try variant.validateSupported() }

        if explains { return try await printPlan(of: path, [variant], options, arguments) }
        let source = open(path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw CommandError.file("read", path) }
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
                "bytes": made.bytes, "copied": made.copied,
            ], arguments,
            "\(output): \(made.format.name), \(made.width)×\(made.height), \(ByteCount(made.bytes).text)")
        return .done
    }
}
