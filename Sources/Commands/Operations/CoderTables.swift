import CommandLine
import FoundationEssentials
import ImageModel
import Terminal
import Transcoder

/// The tables `[coders."NAME"]` of a configuration file.
struct CoderTables {
    private struct Table {
        let line: Int
        /// Strings by key.
        var fields: [String: [String]] = [:]
    }

    private static let limit = 32
    private static let keys = ["signature", "media-type", "command", "read"]

    private let file: String
    private var tables: [String: Table] = [:]
    private(set) var problems: [String] = []

    init(file: String) { self.file = file }

    mutating func add(_ entry: TOMLEntry) throws(CommandError) {
        guard entry.path.count > 1 else {
            guard entry.value == .table else { throw .usage("[coders] is not a section with a value") }
            return
        }
        let name = entry.path[1]
        guard entry.path.count > 2 else {
            guard entry.value == .table else { throw .usage("coders.\(name) must be a table") }
            tables[name] = tables[name] ?? Table(line: entry.line)
            return
        }
        let key = entry.path[2], setting = "coders.\(name).\(key)"
        guard Self.keys.contains(key) else {
            throw .usage("\(setting) is not a setting\(NearestWord.question(key, among: Self.keys))")
        }
        guard case .string(let text) = entry.value, entry.path.count == 3 else {
            throw .usage("\(setting) must be \(key == "media-type" ? "a string" : "a string or a list of strings")")
        }
        tables[name, default: Table(line: entry.line)].fields[key, default: []].append(text)
    }

    /// The valid coders in file order; faults of the others become `problems`.
    mutating func coders() -> [ImageCoder] {
        var coders: [ImageCoder] = []
        for (name, table) in tables.sorted(by: { ($0.value.line, $0.key) < ($1.value.line, $1.key) }) {
            do throws(VariantError) {
                coders.append(try Self.coder(name, table.fields))
            } catch {
                problems.append("\(file):\(table.line): coders.\(name).\(error.path): \(error.message)")
            }
        }
        if coders.count > Self.limit { problems.append("\(file): has more than \(Self.limit) coders") }
        return coders
    }

    private static func coder(_ name: String, _ fields: [String: [String]]) throws(VariantError) -> ImageCoder {
        guard let texts = fields["signature"] else { throw VariantError(path: "signature", message: "is missing") }
        guard let command = fields["command"] else { throw VariantError(path: "command", message: "is missing") }
        var signatures: [ImageCoder.Signature] = []
        for text in texts {
            guard let signature = ImageCoder.Signature(text) else {
                throw VariantError(
                    path: "signature",
                    message: "'\(text)' must be hexadecimal digits, with @OFFSET unless they are at the beginning")
            }
            signatures.append(signature)
        }
        let types = fields["media-type"] ?? ["application/octet-stream"]
        guard types.count == 1 else { throw VariantError(path: "media-type", message: "must be one value") }
        return try ImageCoder(
            name: name, mediaType: types[0], signatures: signatures, command: command, paths: fields["read"] ?? [])
    }
}
