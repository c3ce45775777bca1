import CommandLine
import FoundationEssentials
import JobQueue

/// The roles of the database that a command needs, for the error of a login that lacks them.
enum RequiredRole {
    /// Empty for a command that no role of Larder's allows, such as `migrate`, which the owner of the schema runs.
    static func names(for command: Command) -> [String] {
        switch command.name {
        case "run": ["larder_producer", "larder_worker"]
        case "enqueue", "pipeline set": ["larder_producer"]
        case "work": ["larder_worker"]
        case "status", "report", "check", "doctor", "serve", "path": ["larder_reader"]
        case "migrate": []
        default:
            switch (command.words[0], command.words.last) {
            case ("db", _), ("bench", _), ("chaos", _): []
            case ("cache", _), (_, "list"), (_, "show"): ["larder_reader"]
            default: ["larder_admin"]
            }
        }
    }

    /// What to do about `error` of `command`; nil unless the database denied a permission that a role has.
    static func remedy(_ error: any Error, of command: Command, login: String?) -> String? {
        let names = names(for: command).joined(separator: ", ")
        guard let error = error as? QueueError, error.isDenied, !names.isEmpty else { return nil }
        let login = login.map { "\"\($0.replacing("\"", with: "\"\""))\"" } ?? "LOGIN"
        return "'larder \(command.name)' needs \(names): GRANT \(names) TO \(login)"
    }

    /// The user that a database URL names.
    static func login(_ url: String?) -> String? {
        let parts = url.flatMap { URLComponents(string: $0) }
        return [parts?.user, parts?.queryItems?.last { $0.name == "user" }?.value].compactMap(\.self).first {
            !$0.isEmpty
        }
    }
}
