package import Terminal

/// The settings allowed in a program's configuration files, by section.
package struct SettingTable: Sendable {
    package struct Setting: Sendable {
        package let section: String
        package let key: String
        package let option: Option
        /// The variable that the file's value replaces.
        package let variable: String
        /// Whether the value may also be a secret: `{ file = "PATH" }` or `{ env = "NAME" }`.
        package let isSecret: Bool

        /// - Parameter variable: nil for the option's variable.
        package init(section: String, key: String, option: Option, variable: String? = nil, isSecret: Bool = false) {
            self.section = section
            self.key = key
            self.option = option
            self.variable = variable ?? option.variable
            self.isSecret = isSecret
        }

        /// Such as `cache.max-age`.
        package var name: String { "\(section).\(key)" }
    }

    /// In documentation order.
    package let all: [Setting]
    /// The sections with settings, in documentation order.
    package let sections: [String]
    /// Reads the tables other than settings.
    package let tables: any ConfigurationTables.Type
    /// The files to read if none is given, if they exist; later ones take precedence. The argument reads a variable.
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

    /// The setting meant by a misspelt key: in that section, else in another.
    package func near(_ key: String, _ section: String) -> String? {
        NearestWord.to(key, among: keys(of: section)).map { "\(section).\($0)" }
            ?? NearestWord.to(key, among: all.map(\.key)).flatMap { near in all.first { $0.key == near }?.name }
    }
}

/// Configuration tables with user-defined names, in addition to the settings.
package protocol ConfigurationTables: Sendable {
    static var sections: [String] { get }

    init()

    /// Takes a file's entry.
    ///
    /// - Returns: false if the entry is a setting.
    /// - Throws: wrong usage naming the problem.
    mutating func add(_ entry: TOMLEntry, _ secrets: SecretReference) throws(CommandError) -> Bool

    /// Checks a file's tables after its last entry.
    ///
    /// - Returns: the problems, one line each, with file and line.
    mutating func endFile() -> [String]
}

private struct NoTables: ConfigurationTables {
    static let sections: [String] = []
    func add(_ entry: TOMLEntry, _ secrets: SecretReference) -> Bool { false }
    func endFile() -> [String] { [] }
}

extension Option {
    /// The default in the help; nil for none.
    package var defaultText: String? {
        if kind == .flag { return "false" }
        if let match = help.firstMatch(of: /(\S+) \(default\)/) { return String(match.1) }
        if let match = help.firstMatch(of: /default and at most (\S+)/) { return String(match.1) }
        guard let match = help.firstMatch(of: /, default:? ([^;]+)|; default: (.+)/) else { return nil }
        let text = (match.1 ?? match.2).map(String.init)
        return text == "none" ? nil : text
    }
}
