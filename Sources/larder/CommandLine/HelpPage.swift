/// Help, from the same table the parser reads: a text for people, a JSON object per command for programs.
struct HelpPage {
    private enum Topic {
        case version, overview
        case commands([Command])
    }

    private let topic: Topic
    private let all: [Command]

    /// The page asked for by `help …`, `--help` or `--version` among the words; nil when none was.
    ///
    /// - Throws: wrong usage when help is asked for something unknown.
    init?(asked words: [String], commands: [Command]) throws(CommandError) {
        all = commands
        let leading = words.prefix { $0 != "--" }.filter { $0 != "--json" }
        guard let first = leading.first else {
            guard words.count == leading.count || words == ["--json"] else { return nil }
            topic = .overview
            return
        }
        let asks = first == "help" || leading.contains("--help") || leading.contains("-h")
        if first == "--version" || first == "version" {
            topic = .version
        } else if asks {
            let named = leading.filter { !$0.hasPrefix("-") && $0 != "help" }
            let exact = commands.filter { named.starts(with: $0.words) }.max { $0.words.count < $1.words.count }
            let family = commands.filter { $0.words.starts(with: named.prefix(1)) }
            if named.isEmpty {
                topic = .overview
            } else if let exact {
                topic = .commands([exact])
            } else if !family.isEmpty {
                topic = .commands(family)
            } else {
                throw .usage("no help on '\(named.joined(separator: " "))': it is no command")
            }
        } else {
            return nil
        }
    }

    /// The page for people.
    var text: String {
        switch topic {
        case .version: "larder \(Larder.version)\n"
        case .overview: overview
        case .commands(let commands): commands.map(\.page).joined(separator: "\n")
        }
    }

    /// Writes the page, as text or as lines of JSON.
    func show(json: Bool) throws {
        guard json else { return Console.write(text) }
        switch topic {
        case .version: try Console.json(["name": "larder", "version": Larder.version])
        case .overview: for command in all { try Console.json(CommandHelp(command)) }
        case .commands(let commands): for command in commands { try Console.json(CommandHelp(command)) }
        }
    }

    private var overview: String {
        let width = all.map(\.name.count).max() ?? 0
        var text = "larder: prefetches images, makes their variants, and stores them in SDWebImage's disk layout\n\n"
        text += "usage: larder COMMAND [OPTION]... [ARGUMENT]...\n\n"
        for command in all { text += "  \(command.name.padded(to: width))  \(command.summary)\n" }
        text += """

            'larder help COMMAND' tells more, 'larder version' the version. Every option --some-name is also the setting
            LARDER_SOME_NAME. With --json results are JSON, one object a line.
            exit codes: 0 done, 1 failed, 2 wrong usage, 3 time limit reached with work left, 4 only later work left

            """
        return text
    }
}

extension Command {
    /// The usage line without the word `usage:`.
    fileprivate var usage: String {
        "larder \(name)" + (options.isEmpty ? "" : " [OPTION]...") + (operands.isEmpty ? "" : " \(operands)")
    }

    /// The help page.
    fileprivate var page: String {
        var text = "usage: \(usage)\n\n\(summary).\n"
        if !discussion.isEmpty { text += "\n\(discussion)\n" }
        if !examples.isEmpty { text += "\nexamples:\n" + examples.map { "  \($0)\n" }.joined() }
        let rows = options + CommandTable.commonOptions
        let width = rows.map(\.usage.count).max() ?? 0
        text += "\noptions:\n"
        for option in rows { text += "  \(option.usage.padded(to: width))  \(option.help)\n" }
        let notes = Option.notes.filter { note in rows.contains { $0.placeholder == note.placeholder } }
        if !notes.isEmpty { text += "\n" + notes.map { "\($0.placeholder): \($0.text)\n" }.joined() }
        return text
    }
}

extension Option {
    /// What the values of many options have in common.
    fileprivate static let notes = [
        (
            placeholder: "DURATION",
            text: "a number with ms, s, m, h or d, such as 500ms, 1.5h or 1d; without a unit it is seconds"
        ),
        (placeholder: "SIZE", text: "bytes, or a whole number with KiB, MiB or GiB, such as 800000 or 32MiB"),
    ]

    /// What stands for the value, `FILE`; nil for a flag.
    var placeholder: String? {
        switch kind {
        case .flag: nil
        case .value(let value), .values(let value), .texts(let value): value
        }
    }

    /// As the help writes it: `-o, --output FILE`.
    var usage: String {
        let value = placeholder.map { " \($0)" } ?? ""
        let long = "--\(name)\(value)\(isRepeatable ? "..." : "")"
        return short.map { "-\($0), \(long)" } ?? "    \(long)"
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

/// A command as `help --json` tells it.
private struct CommandHelp: Encodable {
    struct Setting: Encodable {
        let name: String
        let short: Nullable<String>
        /// What stands for its value; null for a flag.
        let value: Nullable<String>
        let repeatable: Bool
        /// Null for what no variable sets.
        let variable: Nullable<String>
        let help: String
    }

    let command: String
    let usage: String
    let summary: String
    let discussion: String
    let examples: [String]
    let options: [Setting]

    init(_ command: Command) {
        self.command = command.name
        usage = command.usage
        summary = command.summary
        discussion = command.discussion
        examples = command.examples
        options = (command.options + CommandTable.commonOptions).map {
            Setting(
                name: $0.name, short: Nullable($0.short.map(String.init)), value: Nullable($0.placeholder),
                repeatable: $0.isRepeatable, variable: Nullable($0.name == "help" ? nil : $0.variable), help: $0.help)
        }
    }
}
