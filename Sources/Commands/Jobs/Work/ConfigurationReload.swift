import CommandLine
import Downloader
import FoundationEssentials
import Monitoring
import Terminal

/// Reloads the configuration files at SIGHUP, as far as a running worker can change.
struct ConfigurationReload {
    /// The arguments with the newest files.
    private(set) var arguments: Arguments
    private let downloader: ImageDownloader
    private let log: EventLog

    init(_ arguments: Arguments, _ downloader: ImageDownloader, _ log: EventLog) {
        self.arguments = arguments
        self.downloader = downloader
        self.log = log
    }

    /// Credential profiles and the log level change immediately. Invalid files change nothing.
    ///
    /// - Returns: a log line.
    mutating func run() -> String {
        do throws(CommandError) {
            var next = arguments
            let file = try ConfigurationFile(arguments)
            try file.check()
            next.file = file
            let profiles = try Limits.credentials(next)
            let level = try EventLog.level(next) ?? .info
            let changed = Self.changes(from: arguments.file, to: file)
            arguments = next
            downloader.replaceCredentials(profiles)
            log.setLevel(level)
            let rest = changed.isEmpty ? "" : "; a restart applies \(changed.joined(separator: ", "))"
            return "configuration read again, \(profiles.count.counted("credential profile"))\(rest)"
        } catch {
            return "configuration not read again: \(error.message)"
        }
    }

    /// The changed settings that need a restart.
    static func changes(from old: ConfigurationFile?, to new: ConfigurationFile) -> [String] {
        var names = SettingTable.larder.all.filter { setting in
            old?.values[setting.variable]?.text != new.values[setting.variable]?.text
                && !["credentials", EventLog.levelOption.name].contains(setting.option.name)
        }.map(\.name)
        if (old?.hosts ?? [:]) != new.hosts { names.append("origins") }
        if (old?.coders ?? []) != new.coders { names.append("coders") }
        return names
    }
}
