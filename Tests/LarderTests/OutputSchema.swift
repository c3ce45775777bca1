import Foundation
import TestSupport

/// docs/json-output.schema.json, the JSON Schema of what commands print with --json.
enum OutputSchema {
    static let path = PackageRoot.path + "/docs/json-output.schema.json"
    /// Checks lines of "COMMAND TAB OBJECT" and prints what is wrong.
    private static let checker = """
        import json, sys, jsonschema
        schema = json.load(open(sys.argv[1]))
        jsonschema.Draft202012Validator.check_schema(schema)
        for line in open(sys.argv[2]):
            name, text = line.rstrip("\\n").split("\\t", 1)
            part = {"anyOf": [schema["properties"][name], {"$ref": "#/$defs/error"}], "$defs": schema["$defs"]}
            for error in jsonschema.Draft202012Validator(part).iter_errors(json.loads(text)):
                found = jsonschema.exceptions.best_match([error])
                print(name, found.message, list(found.path), text)
        """

    /// What the schema forbids in lines that commands have printed; empty when it allows all.
    static func faults(_ lines: [(command: String, line: String)]) async throws -> String {
        let directory = try TemporaryDirectory()
        try directory.write(lines.map { "\($0.command)\t\($0.line)\n" }.joined().utf8, to: "lines")
        return try await SystemTool.run(["python3", "-c", checker, path, directory.file("lines")])
    }
}
