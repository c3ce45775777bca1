import CommandLine
import Monitoring
import Terminal

/// The settings allowed in a configuration file: settings of a deployment, not of a single call.
extension SettingTable {
    static let larder = SettingTable(
        [databaseURL] + LarderSections.all,
        sections: [
            "database", "cache", "download", "transcode", "limits", "origins", "webhooks", "metrics",
            "telemetry", "log",
        ], tables: LarderTables.self
    ) { variable in
        ["/etc/larder/larder.toml"] + (Settings.home(variable).map { [$0 + "/larder.toml"] } ?? [])
    }

    /// All database variables precede the file.
    private static let databaseURL = Setting(
        section: "database", key: "url", option: Settings.databaseOption, variable: "DATABASE_URL", isSecret: true)
}

private enum LarderSections {
    /// In documentation order. A key is its option's name, except `url`, `dir` and `format`, which a section makes
    /// clear; `[origins]` omits `origin-`.
    static let all: [SettingTable.Setting] =
        section(
            "cache",
            [Settings.cacheOption] + NamingOption.options + [WorkerSetup.fallbackOption] + StoreOptions.options
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
        + section("telemetry", [TelemetryOptions.option])
        + section(
            "log", [EventLog.formatOption, EventLog.levelOption],
            naming: ["log-format": "format", "log-level": "level"])

    private static func section(_ name: String, _ options: [Option], naming: [String: String] = [:]) -> [SettingTable
        .Setting]
    {
        options.map { option in
            let short = name == "origins" && option.name.hasPrefix("origin-") ? option.name.dropFirst(7) : nil
            return SettingTable.Setting(
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
