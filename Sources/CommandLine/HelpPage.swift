package import Terminal

/// The help of the program or a command, made from the option parser's table.
package struct HelpPage {
    private enum Topic {
        case version, overview
        case commands([Command])
    }

    private let topic: Topic
    private let table: CommandTable
    private var showsAll = false

    /// The page for `help ...`, `--help` or `--version`; nil for other words.
    ///
    /// - Throws: wrong usage for an unknown command.
    package init?(for words: [String], of table: CommandTable) throws(CommandError) {
        self.table = table
        let leading = words.prefix { $0 != "--" }.filter { $0 != "--json" }
        guard let first = leading.first else {
            guard words.count == leading.count || words == ["--json"] else { return nil }
            topic = .overview
            return
        }
        if ["--version", "version", "-V"].contains(first) {
            topic = .version
            return
        }
        guard first == "help" || !["--help", "--help-all", "-h"].allSatisfy({ !leading.contains($0) })
        else { return nil }
        showsAll = leading.contains("--help-all") || leading.contains("--all")
        let named = leading.filter { !$0.hasPrefix("-") && $0 != "help" }
        let exact = table.command(spelled: named)?.0
        let family = table.all.filter { $0.words.starts(with: named.prefix(1)) }
        if named.isEmpty {
            topic = .overview
        } else if let exact {
            topic = .commands([exact])
        } else if !family.isEmpty {
            topic = .commands(family)
        } else {
            throw .usage("help: \(table.unknown(named[0])); '\(table.program) help' lists the commands")
        }
    }

    /// The page as text, or one JSON line per command.
    package func text(json: Bool, width: Int = PageWidth.current) throws -> String {
        switch topic {
        case .version where json: try JSONLine.text(["name": table.program, "version": table.version]) + "\n"
        case .version: "\(table.program) \(table.version)\n"
        case .overview where json: try lines(of: table.all)
        case .overview: overview(width: width)
        case .commands(let commands) where json: try lines(of: commands)
        case .commands(let commands) where commands.count > 1 && !showsAll: family(commands, width: width)
        case .commands(let commands):
            commands.map { $0.page(of: table, all: showsAll, width: width) }.joined(separator: "\n")
        }
    }

    private func lines(of commands: [Command]) throws -> String {
        try commands.map { try JSONLine.text($0.help(of: table.program)) + "\n" }.joined()
    }

    /// The commands that share their first word, by name.
    private func family(_ commands: [Command], width columns: Int) -> String {
        let word = commands.first?.words.first ?? ""
        var text = "usage: \(table.program) \(word) COMMAND [OPTION]... [ARGUMENT]...\n\n"
        text += rows(commands, left: commands.map(\.name.count).max() ?? 0, width: columns)
        let first = commands.first?.name ?? ""
        let end =
            "'\(table.program) help \(first)' prints the help of one, '\(table.program) help \(word) --help-all' of all."
        return text + "\n" + WrappedText.paragraphs(end, width: columns) + "\n"
    }

    private func rows(_ commands: [Command], left: Int, width: Int) -> String {
        commands.map { WrappedText.row($0.name, $0.summary, left: left, width: width) }.joined()
    }

    private func overview(width columns: Int) -> String {
        let width = table.all.map(\.name.count).max() ?? 0
        var text = "\(table.program): \(table.summary)\n\n"
        text += "usage: \(table.program) COMMAND [OPTION]... [ARGUMENT]...\n"
        let isShort = !showsAll && !table.usualCommands.isEmpty
        for (title, commands) in table.groups {
            let shown = isShort ? commands.filter { table.usualCommands.contains($0.name) } : commands
            if !shown.isEmpty { text += "\n\(title):\n" + rows(shown, left: width, width: columns) }
        }
        let more = isShort ? "'\(table.program) help --all' lists all \(table.all.count) commands. " : ""
        let end = """
            \(more)'\(table.program) help COMMAND' prints the help of a command, '\(table.program) version' the version. Every option --some-name is
            also the setting LARDER_SOME_NAME. With --json results are JSON, one object a line.

            exit codes: \(ExitCode.meanings.map { "\($0.code) \($0.meaning)" }.joined(separator: ", "))
            """
        return text + "\n" + WrappedText.paragraphs(end, width: columns) + "\n"
    }
}

extension Command {
    private func usage(of program: String) -> String {
        "\(program) \(name)" + (options.isEmpty ? "" : " [OPTION]...") + (operands.isEmpty ? "" : " \(operands)")
    }

    /// - Parameter all: shows all options of a command that has many.
    fileprivate func page(of table: CommandTable, all: Bool, width: Int) -> String {
        var text = "usage: \(usage(of: table.program))\n\n" + WrappedText.paragraphs("\(summary).", width: width) + "\n"
        if !discussion.isEmpty { text += "\n" + WrappedText.paragraphs(discussion, width: width) + "\n" }
        if !examples.isEmpty { text += "\nexamples:\n" + examples.map { "  \($0)\n" }.joined() }
        let groups = OptionGroup.groups(of: self, in: table).prefix(all ? .max : 1)
        let rows = groups.flatMap(\.options)
        let left = min(rows.map(\.usage.count).max() ?? 0, 30)
        for group in groups {
            text += "\n\(group.title):\n"
            for option in group.options { text += WrappedText.row(option.usage, option.help, left: left, width: width) }
        }
        let hidden = OptionGroup.groups(of: self, in: table).flatMap(\.options).count - rows.count
        if hidden > 0 { text += "\n'\(table.program) \(name) --help-all' shows \(hidden.counted("more option"))\n" }
        let notes = Option.notes.filter { note in rows.contains { $0.placeholder == note.placeholder } }
        if !notes.isEmpty {
            text += "\n"
            for note in notes {
                text += WrappedText.paragraphs("\(note.placeholder): \(note.text)", width: width) + "\n"
            }
        }
        return text
    }

    /// For `help --json`. `value` is null for a flag, `variable` for an option without one.
    fileprivate func help(of program: String) -> JSONObject {
        let options = (options + CommandTable.commonOptions).map { option -> JSONObject in
            [
                "name": option.name, "short": option.short.map(String.init), "value": option.placeholder,
                "repeatable": option.isRepeatable, "variable": option.name.hasPrefix("help") ? nil : option.variable,
                "help": option.help,
            ]
        }
        return [
            "command": name, "usage": usage(of: program), "summary": summary, "discussion": discussion,
            "examples": examples,
            "options": options,
        ]
    }
}

extension Option {
    fileprivate static let notes = [
        (
            placeholder: "DURATION",
            text: "a number with ms, s, m, h or d, such as 500ms, 1.5h or 1d; without a unit it is seconds"
        ),
        (placeholder: "SIZE", text: "bytes, or a whole number with KiB, MiB or GiB, such as 800000 or 32MiB"),
    ]

    /// Such as `-o, --output FILE`.
    fileprivate var usage: String {
        let value = placeholder.map { " \($0)" } ?? ""
        let long = "--\(name)\(value)\(isRepeatable ? "..." : "")"
        return short.map { "-\($0), \(long)" } ?? "    \(long)"
    }
}
