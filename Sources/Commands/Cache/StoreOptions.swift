import CommandLine
import DiskCache
import Glibc
import Terminal

/// The options for durability, owner and mode of stored files.
enum StoreOptions {
    static let options = [
        Option(
            "durability", .value("LEVEL"), "what is synchronised before a file is stored: none, data (default) or full"),
        Option("file-mode", .value("OCTAL"), "mode of the cache's files, default 0644 without the bits of the umask"),
        Option(
            "directory-mode", .value("OCTAL"), "mode of its directories, default 0755 without the bits of the umask"),
        Option("owner", .value("USER"), "owner of stored files, a name or number; needs root"),
        Option("group", .value("GROUP"), "group of stored files, a name or number"),
    ]

    static func durability(_ arguments: Arguments) throws(CommandError) -> Durability {
        try arguments.choice("durability", of: Durability.allCases.map(\.rawValue)).flatMap(Durability.init) ?? .data
    }

    /// By default the process's and its umask's.
    static func permissions(_ arguments: Arguments) throws(CommandError) -> FilePermissions {
        FilePermissions(
            fileMode: try mode("file-mode", arguments), directoryMode: try mode("directory-mode", arguments),
            user: try number("owner", "user", arguments) { getpwnam($0)?.pointee.pw_uid },
            group: try number("group", "group", arguments) { getgrnam($0)?.pointee.gr_gid })
    }

    private static func mode(_ name: String, _ arguments: Arguments) throws(CommandError) -> UInt16? {
        guard let text = try arguments.value(name) else { return nil }
        guard let mode = UInt16(text, radix: 8), mode <= 0o7777, text.first != "+" else {
            throw .usage("\(arguments.label(name)): '\(text)' is not a mode such as 0640 or 2775")
        }
        return mode
    }

    private static func number(
        _ name: String, _ what: String, _ arguments: Arguments, _ find: (String) -> UInt32?
    ) throws(CommandError) -> UInt32? {
        guard let text = try arguments.value(name) else { return nil }
        // chown interprets the highest number as "unchanged".
        if let number = UInt32(text), number < .max { return number }
        guard let number = find(text) else {
            throw .usage("\(arguments.label(name)): there is no \(what) '\(text)' on this machine")
        }
        return number
    }
}
