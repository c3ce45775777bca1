import Glibc
package import Terminal

/// Settings from configuration files; variables and options take precedence.
package struct ConfigurationFile: Sendable {
    package struct Value: Sendable, Equatable {
        package let text: String
        package let file: String
        /// `FILE:LINE`.
        package let place: String
        package let setting: String
    }

    /// The files read; later ones take precedence.
    package private(set) var files: [String] = []
    /// By the setting's variable.
    package private(set) var values: [String: Value] = [:]
    /// The files' tables other than settings.
    package private(set) var tables: any ConfigurationTables
    /// Errors, one line each, with file and line.
    package private(set) var problems: [String] = []
    private let settings: SettingTable

    /// Reads the file of `--config` or LARDER_CONFIG, else the existing standard files.
    ///
    /// - Throws: an unreadable file, or one that is not TOML.
    package init(_ arguments: Arguments, of settings: SettingTable) throws(CommandError) {
        self.init(of: settings)
        let given = try arguments.value("config").map { [$0] }
        for path in given ?? settings.files(arguments.variable).filter({ access($0, F_OK) == 0 }) {
            try read(WholeFile.bytes(path), named: path, arguments.environment)
        }
    }

    package init(text: String, of settings: SettingTable, environment: [String: String] = [:]) throws(CommandError) {
        self.init(of: settings)
        try read(Array(text.utf8), named: "larder.toml", environment)
    }

    private init(of settings: SettingTable) {
        self.settings = settings
        tables = settings.tables.init()
    }

    /// - Throws: the first problem, with the number of the others.
    package func check() throws(CommandError) {
        guard let first = problems.first else { return }
        let rest =
            problems.count > 1 ? " (and \((problems.count - 1).counted("more problem")): larder config check)" : ""
        throw .larder(.configuration, first + rest, exit: .wrongUsage)
    }

    private mutating func read(
        _ bytes: [UInt8], named name: String, _ environment: [String: String]
    ) throws(CommandError) {
        files.append(name)
        let secrets = SecretReference(file: name, environment: environment)
        for entry in try TOMLDocument.entries(of: bytes, name: name) {
            let place = "\(name):\(entry.line)"
            do throws(CommandError) {
                if try tables.add(entry, secrets) { continue }
                try addSetting(entry, secrets, place)
            } catch {
                problems.append("\(place): \(error.message)")
            }
        }
        problems += tables.endFile()
    }

    private mutating func addSetting(
        _ entry: TOMLEntry, _ secrets: SecretReference, _ place: String
    ) throws(CommandError) {
        let section = entry.path[0]
        guard settings.sections.contains(section), entry.value == .table || entry.path.count > 1 else {
            // An unknown section's values follow its name.
            if entry.path.count > 1 { return }
            throw .usage(
                "[\(section)] is not a section"
                    + NearestWord.question(section, among: settings.sections + settings.tables.sections))
        }
        guard entry.path.count > 1 else { return }
        let key = entry.path[1]
        let setting = settings.all.first { $0.section == section && $0.key == key }
        if let setting, setting.isSecret, entry.isReference {
            if entry.value != .table { try add(secrets.value(entry), setting, place) }
            return
        }
        guard let setting, entry.path.count == 2, entry.value != .table
        else {
            let name = entry.path.joined(separator: ".")
            let near = settings.near(key, section).map { "; did you mean '\($0)'?" } ?? ""
            throw .usage("\(name) is not a setting\(near)")
        }
        try add(Self.text(of: entry, for: setting), setting, place)
    }

    private mutating func add(
        _ text: String, _ setting: SettingTable.Setting, _ place: String
    ) throws(CommandError) {
        // An array's elements are consecutive; a value from an earlier file is replaced.
        let before = values[setting.variable].flatMap { $0.file == files.last ? $0.text : nil }
        guard before == nil || setting.option.isRepeatable else {
            throw .usage("\(setting.name) must be one value, not a list")
        }
        let joined = [before, text].compactMap(\.self).joined(separator: ",")
        values[setting.variable] = Value(text: joined, file: files.last ?? "", place: place, setting: setting.name)
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
}
