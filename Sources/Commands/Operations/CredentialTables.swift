import CommandLine
import Downloader
import FoundationEssentials
import ImageModel
import Terminal

/// The tables `[credentials."NAME"]` of a configuration file.
struct CredentialTables {
    private let references: SecretReference
    private let file: String
    /// Fields by profile, as in `--credentials`.
    private var tables: [String: [String: JSONValue]] = [:]
    private var lines: [String: Int] = [:]
    private(set) var problems: [String] = []

    /// Fields with secret values.
    private static let secrets: Set = ["password", "keyPassword"]
    private static let secretTables: Set = ["headers", "cookies"]

    /// - Parameter references: resolves the file's secrets.
    init(_ references: SecretReference) {
        file = references.file
        self.references = references
    }

    mutating func add(_ entry: TOMLEntry) throws(CommandError) {
        guard entry.path.count > 1 else {
            guard entry.value == .table else { throw .usage("[credentials] is not a section with a value") }
            return
        }
        let name = entry.path[1]
        lines[name] = lines[name] ?? entry.line
        guard entry.path.count > 2 else {
            guard entry.value == .table else { throw .usage("credentials.\(name) must be a table") }
            tables[name] = tables[name] ?? [:]
            return
        }
        let field = entry.path[2]
        let isTable = Self.secretTables.contains(field)
        if entry.value == .table { return }
        if Self.secrets.contains(field) || isTable {
            // Without its last key, `file` or `env`, the path of the secret.
            guard entry.path.count == (isTable ? 5 : 4) else {
                let path = entry.path.joined(separator: ".")
                throw .usage("\(path) must be { file = \"PATH\" } or { env = \"NAME\" }")
            }
            let secret = try references.value(entry)
            if isTable {
                guard case .object(var table) = tables[name]?[field] ?? .object([:]) else { return }
                table[entry.path[3]] = .string(secret)
                tables[name, default: [:]][field] = .object(table)
            } else {
                tables[name, default: [:]][field] = .string(secret)
            }
            return
        }
        guard case .string(let text) = entry.value, entry.path.count == 3 else {
            throw .usage("\(entry.path.joined(separator: ".")) must be a string")
        }
        if field == "origins" {
            guard case .array(let origins) = tables[name]?[field] ?? .array([]) else { return }
            tables[name, default: [:]][field] = .array(origins + [.string(text)])
        } else {
            tables[name, default: [:]][field] = .string(text)
        }
    }

    /// The valid profiles; faults of the others become `problems`.
    mutating func profiles() -> [String: CredentialProfile] {
        var profiles: [String: CredentialProfile] = [:]
        for (name, table) in tables.sorted(by: { $0.key < $1.key }) {
            do {
                let json = JSONValue.object([name: .object(table)]).canonicalText
                profiles.merge(try CredentialProfile.profiles(json: Array(json.utf8))) { _, new in new }
            } catch {
                let text = "\(error.path.dropFirst(2)): \(error.message)"
                problems.append("\(file):\(lines[name] ?? 1): credentials.\(text)")
            }
        }
        return profiles
    }
}
