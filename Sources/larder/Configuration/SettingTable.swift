/// The settings that a configuration file may have, by section: those of a deployment, not those of one call.
enum SettingTable {
    struct Setting {
        let section: String
        let key: String
        let option: Option

        /// `cache.max-age`.
        var name: String { "\(section).\(key)" }

        /// The variable that the value of a file takes the place of. Every variable for the database precedes the file.
        var variable: String { option.name == "database" ? "DATABASE_URL" : option.variable }
    }

    /// In the order of the documentation. A key is the name of its option, but `url`, `dir` and `format`, which a
    /// section makes clear, and `origin-` is left out in `[origins]`.
    static let all: [Setting] =
        [databaseURL]
        + section(
            "cache",
            [Settings.cacheOption, NamingOption.option, WorkerSetup.fallbackOption] + StoreOptions.options
                + ExpiryOptions.work + ObjectStoreOptions.options,
            naming: ["cache": "dir"])
        + section(
            "download",
            Limits.fetchOptions.filter { !isLimit($0) && !isOfOrigin($0) } + [WorkerSetup.certificateOption]
                + Limits.downloadOptions)
        + section("transcode", Limits.transcodeOptions.filter { !isLimit($0) })
        + section(
            "limits",
            WorkerSetup.limits + (Limits.fetchOptions + Limits.transcodeOptions).filter(isLimit))
        + section("origins", (Limits.fetchOptions + Limits.originOptions).filter(isOfOrigin))
        + section("webhooks", [WorkerSetup.webhookOption], naming: ["webhook-secret-file": "secret-file"])
        + section("metrics", [WorkerEndpoint.option])
        + section(
            "log", [EventLog.formatOption, EventLog.levelOption],
            naming: ["log-format": "format", "log-level": "level"])

    static let databaseURL = Setting(section: "database", key: "url", option: Settings.databaseOption)
    static let sections = [
        "database", "cache", "download", "transcode", "limits", "origins", "webhooks", "metrics", "log",
    ]
    /// The keys of `[origins."HOST"]`.
    static let originKeys = ["rate", "connections", "streams"]

    static func keys(of section: String) -> [String] { all.filter { $0.section == section }.map(\.key) }

    /// The setting that a misspelt key of a section means: one of that section, else of another.
    static func near(_ key: String, _ section: String) -> String? {
        NearestWord.to(key, among: keys(of: section)).map { "\(section).\($0)" }
            ?? NearestWord.to(key, among: all.map(\.key)).flatMap { near in all.first { $0.key == near }?.name }
    }

    private static func section(_ name: String, _ options: [Option], naming: [String: String] = [:]) -> [Setting] {
        options.map { option in
            let short = name == "origins" && option.name.hasPrefix("origin-") ? option.name.dropFirst(7) : nil
            return Setting(
                section: name, key: naming[option.name] ?? short.map(String.init) ?? option.name, option: option)
        }
    }

    private static func isLimit(_ option: Option) -> Bool {
        option.name.hasPrefix("max-") || option.name.hasSuffix("-timeout") || option.name.hasSuffix("-time")
    }

    private static func isOfOrigin(_ option: Option) -> Bool {
        option.name.hasPrefix("origin-") || option.name.hasPrefix("breaker-")
    }
}

extension Option {
    /// The default as the help has it; nil for none.
    var defaultText: String? {
        if kind == .flag { return "false" }
        if let match = help.firstMatch(of: /(\S+) \(default\)/) { return String(match.1) }
        if let match = help.firstMatch(of: /default and at most (\S+)/) { return String(match.1) }
        guard let match = help.firstMatch(of: /, default:? ([^;]+)|; default: (.+)/) else { return nil }
        let text = (match.1 ?? match.2).map(String.init)
        return text == "none" ? nil : text
    }
}
