package import Terminal

/// A program: its commands in help order and groups, and their shared properties.
package struct CommandTable: Sendable {
    /// Commands under a help title.
    package typealias Group = (title: String, commands: [Command])

    /// The name with which a user starts the program.
    package let program: String
    package let version: String
    /// The program's purpose, after its name in the help.
    package let summary: String
    /// For the man page: a short description and a sentence.
    package let description: (short: String, long: String)
    package let groups: [Group]
    package let all: [Command]
    /// The commands in the short help; empty if it shows all.
    package let usualCommands: [String]
    /// The most needed options, in this order.
    package let usualOptions: [String]
    /// Options with their own help title.
    package let subjects: [OptionGroup]
    package let settings: SettingTable
    /// The variables that are settings.
    package let variables: Set<String>

    /// - Parameter variables: settings in addition to the options' variables.
    package init(
        program: String, version: String, summary: String, description: (short: String, long: String),
        groups: [Group], usualCommands: [String] = [], usualOptions: [String] = [], subjects: [OptionGroup] = [],
        settings: SettingTable = .none,
        variables: Set<String> = []
    ) {
        self.program = program
        self.version = version
        self.summary = summary
        self.description = description
        self.groups = groups
        self.usualCommands = usualCommands
        self.usualOptions = usualOptions
        self.subjects = subjects
        self.settings = settings
        all = groups.flatMap(\.commands)
        self.variables = Set((all.flatMap(\.options) + Self.commonOptions.prefix(2)).map(\.variable)).union(variables)
    }

    package static let commonOptions = [
        Option("json", "print results as JSON, one object a line"),
        Option("verbose", short: "v", "print the domain and code of errors; 'run' also logs every attempt"),
        Option(
            "config", .value("FILE"),
            "the configuration file; default: /etc/larder/larder.toml, then LARDER_HOME/larder.toml"),
        Option("help", short: "h", "show this help"),
        Option("help-all", "show this help with all options"),
    ]

    /// The command at the beginning of `words`, and the remaining words. `--json` may precede the command.
    ///
    /// - Throws: wrong usage, naming the unknown word.
    package func find(_ words: [[UInt8]]) throws(CommandError) -> (Command, [[UInt8]]) {
        let leading = words.prefix { $0 == Array("--json".utf8) }
        let words = words.dropFirst(leading.count)
        let text = words.map { String(decoding: $0, as: UTF8.self) }
        if let (command, spelling) = command(spelled: text) {
            let implied = spelling.implied.map { Array($0.utf8) }
            return (command, Array(leading) + implied + words.dropFirst(spelling.words.count))
        }
        let family = all.filter { $0.words.count > 1 && $0.words.first == text.first }
        if let first = text.first, !family.isEmpty {
            let choices = family.map { $0.words[1] }
            let question = text.dropFirst().first.map { NearestWord.question($0, among: choices, prefix: "\(first) ") }
            throw .usage("'\(program) \(first)' needs one of: \(choices.joined(separator: ", "))\(question ?? "")")
        }
        if let option = text.first, option.hasPrefix("-") {
            throw .usage("'\(option)' precedes the command: \(program) COMMAND [OPTION]... [ARGUMENT]...")
        }
        throw .usage("\(unknown(text.first ?? "")); '\(program) help' lists the commands")
    }

    /// The command at the beginning of `text`, and its spelling there; nil for none.
    package func command(spelled text: [String]) -> (Command, (words: [String], implied: [String]))? {
        all.flatMap { command in command.spellings.map { (command, $0) } }
            .filter { text.starts(with: $0.1.words) }.max { $0.1.words.count < $1.1.words.count }
    }

    /// The error message for an unknown command.
    package func unknown(_ word: String) -> String {
        "'\(word)' is not a command" + NearestWord.question(word, among: all.map { $0.words[0] } + ["help", "version"])
    }
}

/// Options under a title of a command's help: the usual ones first, the others by subject.
package struct OptionGroup {
    package let title: String
    package let options: [Option]

    package init(title: String, options: [Option]) { (self.title, self.options) = (title, options) }

    /// A command with at most this many options shows all.
    private static let fewest = 11
    /// Usual options shown in the short help.
    private static let shown = 10

    /// A command's groups; the short help shows the first.
    package static func groups(of command: Command, in table: CommandTable) -> [OptionGroup] {
        let common = CommandTable.commonOptions
        guard command.options.count > fewest else {
            return [OptionGroup(title: "options", options: command.options + common)]
        }
        let names = table.usualOptions.filter { name in command.options.contains { $0.name == name } }.prefix(shown)
        let first = names.compactMap { name in command.options.first { $0.name == name } }
        var rest = command.options.filter { !names.contains($0.name) }
        var groups = [OptionGroup(title: "options", options: first + common)]
        var later: [OptionGroup] = []
        for subject in table.subjects {
            let members = Set(subject.options.map(\.name))
            let options = rest.filter { members.contains($0.name) }
            rest.removeAll { members.contains($0.name) }
            if !options.isEmpty { later.append(OptionGroup(title: "options for \(subject.title)", options: options)) }
        }
        if !rest.isEmpty { groups.append(OptionGroup(title: "more options", options: rest)) }
        return groups + later
    }
}
