import Downloader
import FoundationEssentials
import Glibc

/// The settings of the configuration files, which variables and options precede.
struct ConfigurationFile: Sendable {
    struct Value: Sendable, Equatable {
        let text: String
        let file: String
        /// `FILE:LINE`.
        let place: String
    }

    /// The files that were read; a later one precedes.
    private(set) var files: [String] = []
    /// By the variable of the setting.
    private(set) var values: [String: Value] = [:]
    /// The limits of `[origins."HOST"]`.
    private(set) var hosts: [String: OriginOverride] = [:]
    /// The profiles of `[credentials."NAME"]`.
    private(set) var credentials: [String: CredentialProfile] = [:]
    /// What is wrong, one line each, with file and line.
    private(set) var problems: [String] = []

    /// Reads the file of `--config` or LARDER_CONFIG, else /etc/larder/larder.toml and LARDER_HOME/larder.toml, as far as
    /// they exist.
    ///
    /// - Parameter given: the value of `--config` or LARDER_CONFIG.
    /// - Throws: a file that cannot be read or is not TOML.
    init(_ given: String?, home: String?, environment: [String: String]) throws(CommandError) {
        let standard = ["/etc/larder/larder.toml"] + (home.map { [$0 + "/larder.toml"] } ?? [])
        for path in given.map({ [$0] }) ?? standard.filter({ access($0, F_OK) == 0 }) {
            try read(WholeFile.bytes(path), named: path, environment)
        }
    }

    /// The files of a command.
    init(_ arguments: Arguments) throws(CommandError) {
        try self.init(
            arguments.value("config"), home: Settings.home(arguments.variable), environment: arguments.environment)
    }

    init(text: String, environment: [String: String] = [:]) throws(CommandError) {
        try read(Array(text.utf8), named: "larder.toml", environment)
    }

    /// - Throws: the first problem, with the count of the others.
    func check() throws(CommandError) {
        guard let first = problems.first else { return }
        let rest =
            problems.count > 1 ? " (and \((problems.count - 1).counted("more problem")): larder config check)" : ""
        throw .larder(.configuration, first + rest, exit: .wrongUsage)
    }

    private mutating func read(
        _ bytes: [UInt8], named name: String, _ environment: [String: String]
    ) throws(CommandError) {
        files.append(name)
        var profiles = CredentialTables(file: name, environment: environment)
        let references = SecretReference(file: name, environment: environment)
        for entry in try TOMLDocument.entries(of: bytes, name: name) {
            let place = "\(name):\(entry.line)"
            do throws(CommandError) {
                switch (entry.path[0], entry.path.count) {
                case ("credentials", _): try profiles.add(entry)
                case ("origins", 2...) where entry.path.count == 3 || entry.value == .table:
                    try addHost(entry)
                case ("database", 2...) where entry.path[1] == SettingTable.databaseURL.key && entry.isReference:
                    if entry.value != .table { try add(references.value(entry), SettingTable.databaseURL, place) }
                default: try addSetting(entry, place)
                }
            } catch {
                problems.append("\(place): \(error.message)")
            }
        }
        credentials.merge(profiles.profiles()) { _, new in new }
        problems += profiles.problems
    }

    private mutating func addSetting(_ entry: TOMLEntry, _ place: String) throws(CommandError) {
        let section = entry.path[0]
        guard SettingTable.sections.contains(section), entry.value == .table || entry.path.count > 1 else {
            // The values of an unknown section follow its name.
            if entry.path.count > 1 { return }
            throw .usage("[\(section)] is not a section" + NearestWord.question(section, among: Self.sections))
        }
        guard entry.path.count > 1 else { return }
        let key = entry.path[1]
        guard let setting = SettingTable.all.first(where: { $0.section == section && $0.key == key }),
            entry.path.count == 2, entry.value != .table
        else {
            let name = entry.path.joined(separator: ".")
            let near = SettingTable.near(key, section).map { "; did you mean '\($0)'?" } ?? ""
            throw .usage("\(name) is not a setting\(near)")
        }
        try add(Self.text(of: entry, for: setting), setting, place)
    }

    private mutating func add(
        _ text: String, _ setting: SettingTable.Setting, _ place: String
    ) throws(CommandError) {
        // The elements of an array follow each other; a value of an earlier file is replaced.
        let before = values[setting.variable].flatMap { $0.file == files.last ? $0.text : nil }
        let elements = setting.option.isRepeatable ? [before, text].compactMap(\.self) : [text]
        let isDatabase = setting.option.name == SettingTable.databaseURL.option.name
        if isDatabase, elements.count > 1, !elements.allSatisfy(DatabaseList.isURL) {
            throw .usage("\(setting.name): the elements of a list must be URLs, postgresql://…")
        }
        // A URL of a database may have commas.
        let joined = elements.joined(separator: isDatabase ? " " : ",")
        values[setting.variable] = Value(text: joined, file: files.last ?? "", place: place)
    }

    private static func text(of entry: TOMLEntry, for setting: SettingTable.Setting) throws(CommandError) -> String {
        switch (entry.value, setting.option.kind) {
        case (.boolean(let isSet), .flag): return isSet ? "true" : "false"
        case (_, .flag): throw .usage("\(setting.name) must be true or false")
        case (.string(let text), _), (.number(let text), _): return text
        default:
            let form = setting.option.isRepeatable ? "a list of strings or numbers" : "a string or a number"
            throw .usage("\(setting.name) must be \(form)")
        }
    }

    private mutating func addHost(_ entry: TOMLEntry) throws(CommandError) {
        let host = entry.path[1].lowercased()
        guard entry.path.count > 2 else { return }
        let key = entry.path[2]
        guard SettingTable.originKeys.contains(key) else {
            let near = NearestWord.question(key, among: SettingTable.originKeys)
            throw .usage("origins.\"\(host)\".\(key) is not a setting\(near)")
        }
        guard case .number(let text) = entry.value, let number = Double(text),
            key == "rate" ? (0.001...1_000_000).contains(number) : (1...1000).contains(number) && Int(text) != nil
        else {
            let range = key == "rate" ? "a number from 0.001 to 1000000" : "a whole number from 1 to 1000"
            throw .usage("origins.\"\(host)\".\(key) must be \(range)")
        }
        var limits = hosts[host] ?? OriginOverride()
        switch key {
        case "rate": limits.rate = number
        case "connections": limits.connections = Int(number)
        default: limits.streams = Int(number)
        }
        hosts[host] = limits
    }

    private static let sections = SettingTable.sections + ["credentials"]
}
