import ImageModel
import JobQueue
import Transcoder

extension Command {
    static let pipelineList = Command(
        words: ["pipeline", "list"], operands: "",
        summary: "The pipelines, each with its newest version and its variants",
        options: [Settings.databaseOption]
    ) { arguments in
        struct Line: Encodable {
            let name: String
            let version: Int
            let variants: [String]
        }
        for stored in try await Settings(arguments).openQueue().pipelines() {
            let names = try Pipeline(json: stored.spec.utf8).variants.map(\.name)
            if arguments.flag("json") {
                try Console.json(Line(name: stored.name, version: stored.version, variants: names))
            } else {
                let list = names.isEmpty ? "the original alone" : names.joined(separator: ", ")
                Console.line("\(stored.name): version \(stored.version), \(list)")
            }
        }
        return .done
    }

    static let pipelineShow = Command(
        words: ["pipeline", "show"], operands: "NAME",
        summary: "The newest version of a pipeline, as JSON that 'pipeline set NAME --from' takes",
        options: [Settings.databaseOption]
    ) { arguments in
        let name = try pipelineName(arguments, "pipeline show")
        let stored = try await Settings(arguments).openQueue().pipeline(named: name)
        let text = try Pipeline(json: stored.spec.utf8).canonicalJSON
        guard arguments.flag("json") else {
            Console.line(text)
            return .done
        }
        // Put together as text: numbers keep their spelling.
        Console.line(#"{"name":\#(try JSONLine.text(stored.name)),"pipeline":\#(text),"version":\#(stored.version)}"#)
        return .done
    }

    static let pipelineSet = Command(
        words: ["pipeline", "set"], operands: "NAME",
        summary: "Make a new version of a pipeline; live jobs keep theirs",
        discussion: """
            From variants, or from a file with {"name":…,"variants":[…]}; '-' is standard input. Nothing happens when the
            newest version is the same.
            """,
        examples: [
            "larder pipeline set thumbs --variant '{\"name\":\"small\",\"thumbnail\":{\"width\":200,\"height\":200}}'",
            "larder run --pipeline thumbs --from urls.txt",
        ],
        options: [
            Option("variant", .texts("JSON"), "one variant; repeatable"),
            Option("from", .value("FILE"), "the whole pipeline; - is standard input"), Settings.databaseOption,
        ]
    ) { arguments in
        struct Line: Encodable {
            let name: String
            let version: Int
        }
        let name = try pipelineName(arguments, "pipeline set")
        let pipeline = try pipeline(called: name, arguments)
        let stored = try await Settings(arguments).openQueue().setPipeline(name: name, spec: pipeline.canonicalJSON)
        if arguments.flag("json") {
            try Console.json(Line(name: stored.name, version: stored.version))
        } else {
            Console.line("\(stored.name): version \(stored.version)")
        }
        return .done
    }

    private static func pipelineName(_ arguments: Arguments, _ command: String) throws(CommandError) -> String {
        let operands = try arguments.operands()
        guard operands.count == 1 else { throw .usage("\(command): which NAME?") }
        guard (1...200).contains(operands[0].utf8.count) else {
            throw .usage("\(command): a NAME has 1 to 200 bytes, not \(operands[0].utf8.count)")
        }
        return operands[0]
    }

    private static func pipeline(called name: String, _ arguments: Arguments) throws -> Pipeline {
        let variants = try VariantJSON.variants(try arguments.list("variant"))
        guard let path = try arguments.value("from") else {
            guard !variants.isEmpty else {
                throw CommandError.usage("pipeline set: which --variant, or --from which FILE?")
            }
            return try VariantJSON.checking("--variant") { () throws(VariantError) in
                for variant in variants { try variant.validateSupported() }
                return try Pipeline(name: name, variants: variants)
            }
        }
        guard variants.isEmpty else { throw CommandError.usage("--from and --variant exclude each other") }
        let bytes = try WholeFile.bytes(path)
        return try VariantJSON.checking(path == "-" ? "standard input" : path, bytes) { () throws(VariantError) in
            let pipeline = try Pipeline(json: bytes)
            try pipeline.validateSupported()
            guard pipeline.name.utf8.elementsEqual(name.utf8) else {
                throw VariantError(path: "$.name", message: "is \"\(pipeline.name)\", not \"\(name)\"")
            }
            return pipeline
        }
    }
}
