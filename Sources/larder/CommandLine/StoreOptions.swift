import DiskCache
import Glibc

/// The options that say how a command stores files: how safely, and whose they are.
enum StoreOptions {
    static let options = [
        Option("durability", .value("LEVEL"), "what a store waits for: none, data (default) or full"),
        Option("file-mode", .value("OCTAL"), "mode of the cache's files, default 0644 less the umask"),
        Option("directory-mode", .value("OCTAL"), "mode of its directories, default 0755 less the umask"),
        Option("owner", .value("USER"), "give what is stored to this user, by name or number; only root can"),
        Option("group", .value("GROUP"), "give what is stored to this group, by name or number"),
    ]

    /// The level that `--durability` names, `data` by default.
    static func durability(_ arguments: Arguments) throws(CommandError) -> Durability {
        guard let word = try arguments.value("durability") else { return .data }
        guard let level = Durability(rawValue: word) else {
            throw .usage("--durability: '\(word)' is none of none, data, full")
        }
        return level
    }

    /// Whose the files are to be; by default nothing else than the process and its umask say.
    static func permissions(_ arguments: Arguments) throws(CommandError) -> FilePermissions {
        FilePermissions(
            fileMode: try mode("file-mode", arguments), directoryMode: try mode("directory-mode", arguments),
            user: try number("owner", "user", arguments) { getpwnam($0)?.pointee.pw_uid },
            group: try number("group", "group", arguments) { getgrnam($0)?.pointee.gr_gid })
    }

    private static func mode(_ name: String, _ arguments: Arguments) throws(CommandError) -> UInt16? {
        guard let text = try arguments.value(name) else { return nil }
        guard let mode = UInt16(text, radix: 8), mode <= 0o7777, text.first != "+" else {
            throw .usage("--\(name): '\(text)' is no mode such as 0640 or 2775")
        }
        return mode
    }

    private static func number(
        _ name: String, _ what: String, _ arguments: Arguments, _ look: (String) -> UInt32?
    ) throws(CommandError) -> UInt32? {
        guard let text = try arguments.value(name) else { return nil }
        // The highest number means "nobody changes" to the system.
        if let number = UInt32(text), number < .max { return number }
        guard let number = look(text) else { throw .usage("--\(name): there is no \(what) '\(text)' here") }
        return number
    }
}
