import CommandLine
import Downloader
import FoundationEssentials
import Glibc
import JobQueue
import Monitoring
import Terminal
import Transcoder

extension Command {
    static let configShow = Command(
        words: ["config", "show"], operands: "",
        summary: "Print every setting of a configuration file with its value, its default and where the value is from",
        discussion: """
            Options precede variables, variables precede files. --json prints {"setting":...,"value":...,"default":...,
            "source":...} per line. Passwords in URLs are not printed, nor are the secrets of credentials.
            """,
        examples: ["larder config show", "larder config show --config larder.toml --json"],
        options: []
    ) { arguments in
        for setting in SettingTable.larder.all {
            let (value, source) = arguments.origin(of: setting)
            let isURL = ["database", "proxy"].contains(setting.option.name)
            let standard = ConfigText.standard(of: setting, arguments)
            let shown = value.map { isURL ? ConfigText.withoutPassword($0) : $0 } ?? standard
            let line: JSONObject = [
                "setting": setting.name, "value": shown, "default": standard, "source": source,
            ]
            try Console.show(line, arguments, "\(setting.name)\t\(PrintableText.text(shown ?? "-"))\t\(source)")
        }
        let file = arguments.file?.files.last ?? "default"
        for (host, limits) in (arguments.file?.hosts ?? [:]).sorted(by: { $0.key < $1.key }) {
            let parts: [(String, String?)] = [
                ("rate", limits.rate.map { "\($0)" }), ("connections", limits.connections.map(String.init)),
                ("streams", limits.streams.map(String.init)),
            ]
            for case (let key, let value?) in parts {
                let name = "origins.\"\(host)\".\(key)"
                let line: JSONObject = ["setting": name, "value": value, "default": nil, "source": file]
                try Console.show(line, arguments, "\(PrintableText.text(name))\t\(value)\t\(file)")
            }
        }
        for coder in arguments.file?.coders ?? [] {
            let name = "coders.\(coder.name)", command = coder.command.joined(separator: " ")
            let line: JSONObject = ["setting": name, "value": command, "default": nil, "source": file]
            try Console.show(line, arguments, "\(name)\t\(PrintableText.text(command))\t\(file)")
        }
        for name in (arguments.file?.credentials ?? [:]).keys.sorted() {
            let line: JSONObject = [
                "setting": "credentials.\(name)", "value": "(hidden)", "default": nil, "source": file,
            ]
            try Console.show(line, arguments, "credentials.\(PrintableText.text(name))\t(hidden)\t\(file)")
        }
        return .done
    }

    static let configCheck = Command(
        words: ["config", "check"], operands: "",
        summary: "Check the configuration files and the settings of the environment; prints what is wrong",
        discussion: """
            Unknown sections and settings, values of a wrong type or out of range, secrets that cannot be read and
            variables that resemble a setting and are none are faults. Nothing is connected to. The exit code is 2 when
            something is wrong.
            """,
        examples: ["larder config check", "larder config check --config larder.toml"],
        options: []
    ) { arguments in
        var problems = arguments.file?.problems ?? []
        if problems.isEmpty { problems = ConfigText.faults(arguments.file, arguments.environment) }
        problems += MisspeltVariables.notes(arguments.environment, of: .larder)
        for problem in problems {
            try Console.show(["problem": problem], arguments, PrintableText.text(problem))
        }
        guard problems.isEmpty else { return .wrongUsage }
        let files = arguments.file?.files ?? []
        if !arguments.flag("json") {
            Console.line("ok: " + (files.isEmpty ? "there is no file" : files.joined(separator: ", ")))
        }
        return .done
    }
}

extension Arguments {
    /// A setting's value and source; a nil value is the default.
    fileprivate func origin(of setting: SettingTable.Setting) -> (value: String?, source: String) {
        var names = [setting.option.variable]
        if setting.option.name == "database" { names += ["LARDER_DATABASE_URL", "DATABASE_URL"] }
        for name in names {
            if let value = environment[name], !value.isEmpty { return (value, name) }
        }
        if let value = file?.values[setting.variable] { return (value.text, value.place) }
        return (nil, "default")
    }
}

private enum ConfigText {
    /// A setting's default; for the cache the actual directory.
    static func standard(of setting: SettingTable.Setting, _ arguments: Arguments) -> String? {
        guard setting.option.name == Settings.cacheOption.name else { return setting.option.defaultText }
        return Settings.home(arguments.variable).map(Settings.standardCache) ?? setting.option.defaultText
    }

    /// A database URL without its password, in any notation.
    static func withoutPassword(_ url: String) -> String {
        guard var parts = URLComponents(string: url), parts.scheme != nil else {
            return url.contains("password") ? "(hidden)" : url
        }
        if parts.password != nil { parts.password = "***" }
        parts.queryItems = parts.queryItems?.map {
            // Also sslpassword.
            $0.name.hasSuffix("password") ? .init(name: $0.name, value: "***") : $0
        }
        return parts.string ?? "(hidden)"
    }

    /// Errors that a worker would report for well-formed settings: one per kind of setting.
    static func faults(_ file: ConfigurationFile?, _ environment: [String: String]) -> [String] {
        let options = SettingTable.larder.all.map(\.option)
        let checks: [(Arguments) throws -> Void] = [
            { try Settings.databaseURL($0).map(PostgresJobQueue.validate) },
            { _ = try Limits.fetch($0) }, { _ = try Limits.resolver($0) },
            { _ = try Limits.transcoders($0) }, { _ = try $0.value("cache").map(Settings.cachePlace) },
            { _ = try NamingOption.naming($0) },
            { _ = try $0.value(WorkerSetup.webhookOption.name).map(WebhookSecret.key) },
            { _ = try StoreOptions.durability($0) }, { _ = try StoreOptions.permissions($0) },
            { _ = try ExpiryOptions.policy($0, age: nil) }, { _ = try EventLog($0) },
            { _ = try WorkerSetup.limits(of: $0) }, { _ = try WorkerEndpoint.address($0) },
            { _ = try TelemetryOptions.tracer($0) },
        ]
        var faults = (file?.coders ?? []).filter { !$0.hasProgram }.map {
            "coders.\($0.name).command: there is no program \($0.command[0])"
        }
        for check in checks {
            do {
                var arguments = try Arguments([], options: options, environment: environment)
                arguments.file = file
                try check(arguments)
            } catch {
                faults.append(CommandError(error).message)
            }
        }
        return faults
    }
}
