/// The help of the program or of commands, made from the table that the option parser also reads.
struct HelpPage {
    private enum Topic {
        case version, overview
        case commands([Command])
    }

    private let topic: Topic
    private var showsAll = false

    /// The page for `help ...`, `--help` or `--version`; nil when the words have none of them.
    ///
    /// - Throws: wrong usage for help on an unknown command.
    init?(for words: [String]) throws(CommandError) {
        let leading = words.prefix { $0 != "--" }.filter { $0 != "--json" }
        guard let first = leading.first else {
            guard words.count == leading.count || words == ["--json"] else { return nil }
            topic = .overview
            return
        }
        if first == "--version" || first == "version" {
            topic = .version
            return
        }
        guard first == "help" || !["--help", "--help-all", "-h"].allSatisfy({ !leading.contains($0) })
        else { return nil }
        showsAll = leading.contains("--help-all")
        let named = leading.filter { !$0.hasPrefix("-") && $0 != "help" }
        let exact = CommandTable.all.filter { named.starts(with: $0.words) }.max { $0.words.count < $1.words.count }
        let family = CommandTable.all.filter { $0.words.starts(with: named.prefix(1)) }
        if named.isEmpty {
            topic = .overview
        } else if let exact {
            topic = .commands([exact])
        } else if !family.isEmpty {
            topic = .commands(family)
        } else {
            throw .usage("help: \(CommandTable.unknown(named[0])); 'larder help' lists the commands")
        }
    }

    /// Prints the page as text, or as a JSON object per command.
    func show(json: Bool) throws {
        switch topic {
        case .version where json: try Console.json(["name": "larder", "version": Larder.version])
        case .version: Console.line("larder \(Larder.version)")
        case .overview where json: for command in CommandTable.all { try Console.json(command.helpJSON) }
        case .overview: Console.write(Self.overview(width: PageWidth.current))
        case .commands(let commands) where json: for command in commands { try Console.json(command.helpJSON) }
        case .commands(let commands) where commands.count > 1 && !showsAll:
            Console.write(Self.family(commands, width: PageWidth.current))
        case .commands(let commands):
            let width = PageWidth.current
            Console.write(commands.map { $0.page(all: showsAll, width: width) }.joined(separator: "\n"))
        }
    }

    /// The commands that share their first word, by name.
    private static func family(_ commands: [Command], width columns: Int) -> String {
        let word = commands.first?.words.first ?? ""
        var text = "usage: larder \(word) COMMAND [OPTION]... [ARGUMENT]...\n\n"
        text += rows(commands, left: commands.map(\.name.count).max() ?? 0, width: columns)
        let first = commands.first?.name ?? ""
        let end = "'larder help \(first)' prints the help of one, 'larder help \(word) --help-all' of all."
        return text + "\n" + WrappedText.paragraphs(end, width: columns) + "\n"
    }

    private static func rows(_ commands: [Command], left: Int, width: Int) -> String {
        commands.map { WrappedText.row($0.name, $0.summary, left: left, width: width) }.joined()
    }

    private static func overview(width columns: Int) -> String {
        let width = CommandTable.all.map(\.name.count).max() ?? 0
        var text = "larder: prefetches images, makes their variants, and stores them in SDWebImage's disk layout\n\n"
        text += "usage: larder COMMAND [OPTION]... [ARGUMENT]...\n"
        for (title, commands) in CommandTable.groups {
            text += "\n\(title):\n" + rows(commands, left: width, width: columns)
        }
        let end = """
            'larder help COMMAND' prints the help of a command, 'larder version' the version. Every option --some-name is
            also the setting LARDER_SOME_NAME. With --json results are JSON, one object a line.

            exit codes: \(ExitCode.meanings.map { "\($0.code) \($0.meaning)" }.joined(separator: ", "))
            """
        return text + "\n" + WrappedText.paragraphs(end, width: columns) + "\n"
    }
}

extension Command {
    private var usage: String {
        "larder \(name)" + (options.isEmpty ? "" : " [OPTION]...") + (operands.isEmpty ? "" : " \(operands)")
    }

    /// - Parameter all: shows more than the usual options of a command that has many.
    fileprivate func page(all: Bool, width: Int) -> String {
        var text = "usage: \(usage)\n\n" + WrappedText.paragraphs("\(summary).", width: width) + "\n"
        if !discussion.isEmpty { text += "\n" + WrappedText.paragraphs(discussion, width: width) + "\n" }
        if !examples.isEmpty { text += "\nexamples:\n" + examples.map { "  \($0)\n" }.joined() }
        let groups = OptionGroup.groups(of: self).prefix(all ? .max : 1)
        let rows = groups.flatMap(\.options)
        let left = min(rows.map(\.usage.count).max() ?? 0, 30)
        for group in groups {
            text += "\n\(group.title):\n"
            for option in group.options { text += WrappedText.row(option.usage, option.help, left: left, width: width) }
        }
        let hidden = OptionGroup.groups(of: self).flatMap(\.options).count - rows.count
        if hidden > 0 { text += "\n'larder \(name) --help-all' shows \(hidden.counted("more option"))\n" }
        let notes = Option.notes.filter { note in rows.contains { $0.placeholder == note.placeholder } }
        if !notes.isEmpty {
            text += "\n"
            for note in notes {
                text += WrappedText.paragraphs("\(note.placeholder): \(note.text)", width: width) + "\n"
            }
        }
        return text
    }

    /// The help as `help --json` prints it. `value` is null for a flag, `variable` for an option that has none.
    fileprivate var helpJSON: JSONObject {
        let options = (options + CommandTable.commonOptions).map { option -> JSONObject in
            [
                "name": option.name, "short": option.short.map(String.init), "value": option.placeholder,
                "repeatable": option.isRepeatable, "variable": option.name.hasPrefix("help") ? nil : option.variable,
                "help": option.help,
            ]
        }
        return [
            "command": name, "usage": usage, "summary": summary, "discussion": discussion, "examples": examples,
            "options": options,
        ]
    }
}

extension Option {
    /// Explanations of placeholders that many options have.
    fileprivate static let notes = [
        (
            placeholder: "DURATION",
            text: "a number with ms, s, m, h or d, such as 500ms, 1.5h or 1d; without a unit it is seconds"
        ),
        (placeholder: "SIZE", text: "bytes, or a whole number with KiB, MiB or GiB, such as 800000 or 32MiB"),
    ]

    /// `-o, --output FILE`.
    fileprivate var usage: String {
        let value = placeholder.map { " \($0)" } ?? ""
        let long = "--\(name)\(value)\(isRepeatable ? "..." : "")"
        return short.map { "-\($0), \(long)" } ?? "    \(long)"
    }
}
