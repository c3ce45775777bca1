package import Terminal

/// The settings that the configuration files of a program may have, by section.
package struct SettingTable: Sendable {
    /// A setting of a section.
    package struct Setting: Sendable {
        package let section: String
        package let key: String
        package let option: Option
        /// The variable that the value of a file takes the place of.
        package let variable: String
        /// Whether the value may also be a secret: `{ file = "PATH" }` or `{ env = "NAME" }`.
        package let isSecret: Bool

        /// - Parameter variable: nil for the variable of the option.
        package init(section: String, key: String, option: Option, variable: String? = nil, isSecret: Bool = false) {
            self.section = section
            self.key = key
            self.option = option
            self.variable = variable ?? option.variable
            self.isSecret = isSecret
        }

        /// `cache.max-age`.
        package var name: String { "\(section).\(key)" }
    }

    /// In the order of the documentation.
    package let all: [Setting]
    /// The sections with settings, in the order of the documentation.
    package let sections: [String]
    /// Reads what files have besides settings.
    package let tables: any ConfigurationTables.Type
    /// The files that are read when no file is given, as far as they exist; a later file precedes.
    ///
    /// The closure that it is called with reads a variable.
    package let files: @Sendable ((String) -> String?) -> [String]

    package init(
        _ all: [Setting], sections: [String], tables: any ConfigurationTables.Type,
        files: @escaping @Sendable ((String) -> String?) -> [String]
    ) {
        self.all = all
        self.sections = sections
        self.tables = tables
        self.files = files
    }

    /// The table of a program without configuration files.
    package static let none = SettingTable([], sections: [], tables: NoTables.self) { _ in [] }

    package func keys(of section: String) -> [String] { all.filter { $0.section == section }.map(\.key) }

    /// The setting that a misspelt key of a section means: one of that section, else of another.
    package func near(_ key: String, _ section: String) -> String? {
        NearestWord.to(key, among: keys(of: section)).map { "\(section).\($0)" }
            ?? NearestWord.to(key, among: all.map(\.key)).flatMap { near in all.first { $0.key == near }?.name }
    }
}

/// Tables of a configuration file with names that the user chooses, in addition to its settings.
package protocol ConfigurationTables: Sendable {
    /// The sections that have no settings.
    static var sections: [String] { get }

    init()

    /// Takes an entry of a file.
    ///
    /// - Returns: false when the entry is a setting.
    /// - Throws: wrong usage that names what is wrong.
    mutating func add(_ entry: TOMLEntry, _ secrets: SecretReference) throws(CommandError) -> Bool

    /// Checks the tables of a file after its last entry.
    ///
    /// - Returns: what is wrong, one line each, with file and line.
    mutating func endFile() -> [String]
}

/// The tables of a program that has none.
private struct NoTables: ConfigurationTables {
    static let sections: [String] = []
    func add(_ entry: TOMLEntry, _ secrets: SecretReference) -> Bool { false }
    func endFile() -> [String] { [] }
}

extension Option {
    /// The default as the help has it; nil for none.
    package var defaultText: String? {
        if kind == .flag { return "false" }
        if let match = help.firstMatch(of: /(\S+) \(default\)/) { return String(match.1) }
        if let match = help.firstMatch(of: /default and at most (\S+)/) { return String(match.1) }
        guard let match = help.firstMatch(of: /, default:? ([^;]+)|; default: (.+)/) else { return nil }
        let text = (match.1 ?? match.2).map(String.init)
        return text == "none" ? nil : text
    }
}
