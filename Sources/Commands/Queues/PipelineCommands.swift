import CommandLine
import ImageModel
import JobQueue
import Terminal

extension Command {
    static let pipelineList = Command(
        words: ["pipeline", "list"], operands: "",
        summary: "List the pipelines with their newest versions and variants",
        examples: ["larder pipeline list"],
        options: [Settings.databaseOption]
    ) { arguments in
        for stored in try await Settings(arguments).openQueue().reports.pipelines() {
            var line: JSONObject = ["name": stored.name, "version": stored.version]
            let text: String
            do throws(VariantError) {
                let names = try Pipeline(json: stored.spec.utf8).variants.map(\.name)
                line["variants"] = names
                text = names.isEmpty ? "no variants" : names.joined(separator: ", ")
            } catch {
                // SQL stores any JSON.
                line["error"] = error.description
                text = "not usable: \(error)"
            }
            try Console.show(line, arguments, "\(stored.name): version \(stored.version), \(text)")
        }
        return .done
    }

    static let pipelineShow = Command(
        words: ["pipeline", "show"], operands: "NAME",
        summary: "Print the newest version of a pipeline as JSON for 'pipeline set NAME --from'",
        examples: ["larder pipeline show thumbs"],
        options: [Settings.databaseOption]
    ) { arguments in
        let name = try pipelineName(arguments, "pipeline show")
        let stored = try await Settings(arguments).openQueue().reports.pipeline(named: name)
        let text: String
        do throws(VariantError) { text = try Pipeline(json: stored.spec.utf8).canonicalJSON } catch {
            throw CommandError.larder(.invalidJSON, "pipeline \(stored.name) version \(stored.version): \(error)")
        }
        // Composed as text: an encoder would not keep the spelling of numbers.
        Console.line(
            arguments.flag("json")
                ? #"{"name":\#(try JSONLine.text(stored.name)),"pipeline":\#(text),"version":\#(stored.version)}"#
                : text)
        return .done
    }

    static let pipelineSet = Command(
        words: ["pipeline", "set"], operands: "NAME",
        summary: "Store a new version of a pipeline; live jobs keep their version",
        discussion: """
            The pipeline is a list of --variant options, or a file with {"name":...,"variants":[...]}. When it equals the
            newest version, no new version is stored.
            """,
        examples: [
            "larder pipeline set thumbs --variant small=200x200 --variant square=64x64:webp,crop",
            "larder pipeline set thumbs --from thumbs.json",
        ],
        options: [
            VariantJSON.option("a variant; repeatable"),
            Option("from", .value("FILE"), "the whole pipeline; - is standard input"), Settings.databaseOption,
        ]
    ) { arguments in
        let name = try pipelineName(arguments, "pipeline set")
        let pipeline = try pipeline(named: name, arguments)
        let queue = try await Settings(arguments).openQueue()
        let stored = try await queue.producer.setPipeline(name: name, spec: pipeline.canonicalJSON)
        try Console.show(
            ["name": stored.name, "version": stored.version], arguments, "\(stored.name): version \(stored.version)")
        let recipes = try await StoredRecipes(of: pipeline.variants, in: queue)
        if let text = StoredRecipes.text(try await recipes.differing()) {
            Console.note(
                "larder: \(text); with their URLs in FILE, this makes them again: larder enqueue --from FILE --pipeline "
                    + "\(ShellWord.quoted(name)) --remake"
            )
        }
        return .done
    }

    private static func pipelineName(_ arguments: Arguments, _ command: String) throws(CommandError) -> String {
        let name = try arguments.operand("NAME", of: command)
        guard name.utf8.count <= 200 else {
            throw .usage("\(command): a NAME has 1 to 200 bytes, not \(name.utf8.count)")
        }
        return name
    }

    private static func pipeline(named name: String, _ arguments: Arguments) throws -> Pipeline {
        let variants = try VariantJSON.variants(try arguments.list("variant"))
        guard let path = try arguments.value("from") else {
            guard !variants.isEmpty else { throw CommandError.usage("pipeline set: --variant or --from is required") }
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
