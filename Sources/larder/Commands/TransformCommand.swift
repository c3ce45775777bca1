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
                + "'{\"name\":\"v\",\"thumbnail\":{\"width\":200,\"height\":200},\"format\":\"webp\"}'"
        ],
        options: [
            Option("output", short: "o", .value("FILE"), "the file to write; required without --explain"),
            Option("variant", .value("JSON"), "the variant to make; required"),
            Option("explain", "print how the variant would be made and its estimated cost, without making it"),
            Option("options", .value("LIST"), "SDWebImage's options, such as TransformAnimatedImage"),
        ] + Limits.transcodeOptions
    ) { arguments in
        struct Line: Encodable {
            let path: String
            let format: String
            let width: Int
            let height: Int
            let bytes: Int
            let copied: Bool
        }
        let operands = try arguments.operands()
        guard operands.count == 1 else { throw CommandError.usage("transform: give one IN file") }
        let explains = arguments.flag("explain")
        guard let output = try arguments.value("output") ?? (explains ? "" : nil) else {
            throw CommandError.usage("transform: give -o FILE")
        }
        guard let text = try arguments.value("variant") else {
            throw CommandError.usage("transform: give --variant JSON")
        }
        let options = try EnqueueOptions.loadOptions(try arguments.value("options"))
        let drawsFirstFrame = !options.isDisjoint(with: [.transformAnimatedImage, .decodeFirstFrameOnly])
        let variant = try VariantJSON.variant(text, from: "--variant")
        try VariantJSON.checking("--variant") { () throws(VariantError) in try variant.validateSupported() }

        let source = open(operands[0], O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw CommandError.file("read", operands[0]) }
        defer { close(source) }
        let pool = TranscoderPool(configuration: try Limits.transcoders(arguments))
        if explains {
            try Console.plan(
                try await pool.plan(source, variants: [variant], transformsAnimated: drawsFirstFrame),
                json: arguments.flag("json"))
            await pool.shutdown()
            return .done
        }
        let file = try OutputFile(output)
        let report = try await pool.transcode(
            TranscodeRequest(
                source: source, variants: [variant], outputs: [file.descriptor],
                transformsAnimated: drawsFirstFrame))
        await pool.shutdown()
        let made = try report.variants[0].get()
        try file.keep()
        if arguments.flag("json") {
            try Console.json(
                Line(
                    path: output, format: made.format.name, width: made.width, height: made.height,
                    bytes: made.bytes, copied: made.copied))
        } else {
            Console.line("\(output): \(made.format.name), \(made.width)×\(made.height), \(ByteCount(made.bytes).text)")
        }
        return .done
    }
}
