/// Help as text, from the same table the parser reads.
struct HelpPage {
    let text: String

    /// The page asked for by `help …`, `--help` or `--version` among the words; nil when none was.
    ///
    /// - Throws: wrong usage when help is asked for something unknown.
    init?(asked words: [String], commands: [Command]) throws(CommandError) {
        let leading = words.prefix { $0 != "--" }
        if words.first == "--version" || words.first == "version" {
            text = "larder \(Larder.version)\n"
        } else if words.isEmpty || words == ["--help"] || words == ["-h"] || words == ["help"] {
            text = Self.overview(commands)
        } else if words[0] == "help" || leading.contains("--help") || leading.contains("-h") {
            let topic = leading.filter { !$0.hasPrefix("-") && $0 != "help" }
            let exact = commands.filter { topic.starts(with: $0.words) }.max { $0.words.count < $1.words.count }
            let family = commands.filter { $0.words.starts(with: topic.prefix(1)) }
            if let exact {
                text = Self.page(exact)
            } else if !family.isEmpty {
                text = family.map(Self.page).joined(separator: "\n")
            } else {
                throw .usage("no help on '\(topic.joined(separator: " "))': it is no command")
            }
        } else {
            return nil
        }
    }

    private static func overview(_ commands: [Command]) -> String {
        let width = commands.map(\.name.count).max() ?? 0
        var text = "larder: prefetches images, makes their variants, and stores them in SDWebImage's disk layout\n\n"
        text += "usage: larder COMMAND [OPTION]... [ARGUMENT]...\n\n"
        for command in commands { text += "  \(pad(command.name, width))  \(command.summary)\n" }
        text += "\n'larder help COMMAND' tells more. Every option --some-name is also the setting LARDER_SOME_NAME.\n"
        text +=
            "exit codes: 0 done, 1 failed, 2 wrong usage, 3 time limit reached with work left, 4 only later work left\n"
        return text
    }

    private static func page(_ command: Command) -> String {
        var text = "usage: larder \(command.name)"
        text += command.options.isEmpty ? "" : " [OPTION]..."
        text += command.operands.isEmpty ? "\n\n" : " \(command.operands)\n\n"
        text += command.summary + ".\n"
        if !command.discussion.isEmpty { text += "\n\(command.discussion)\n" }
        let rows: [(usage: String, help: String)] = (command.options + CommandTable.commonOptions).map {
            ($0.usage, $0.help)
        }
        let width = rows.map(\.usage.count).max() ?? 0
        text += "\noptions:\n"
        for (usage, help) in rows { text += "  \(pad(usage, width))  \(help)\n" }
        return text
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}

extension Option {
    /// As the help writes it: `-o, --output FILE`.
    var usage: String {
        let long: String
        switch kind {
        case .flag: long = "--\(name)"
        case .value(let value): long = "--\(name) \(value)"
        case .values(let value), .texts(let value): long = "--\(name) \(value)..."
        }
        return short.map { "-\($0), \(long)" } ?? "    \(long)"
    }
}
