import Terminal

/// Man pages in mdoc, made from the option parser's table.
package struct ManualPage {
    /// Such as `larder-cache-list`, of section 1.
    package let name: String
    package let text: String

    /// The last change of the text that does not come from the table.
    private static let date = "November 24, 2026"

    /// The pages of a program and its commands.
    package static func all(of table: CommandTable) -> [ManualPage] {
        [overview(of: table)] + table.all.map { page(of: $0, in: table) }
    }

    private static func head(_ name: String, _ summary: String) -> String {
        ".Dd \(date)\n.Dt \(name.uppercased()) 1\n.Os\n.Sh NAME\n.Nm \(name)\n.Nd \(text(summary))"
    }

    private static func overview(of table: CommandTable) -> ManualPage {
        var page = head(table.program, table.description.short) + ".Sh SYNOPSIS\n.Nm\n.Ar COMMAND\n"
        page += ".Op Ar OPTION ...\n.Op Ar ARGUMENT ...\n.Sh DESCRIPTION\n"
        page += text(table.description.long)
        for (title, commands) in table.groups {
            page += ".Ss \(title.prefix(1).uppercased() + title.dropFirst())\n.Bl -tag -width Ds\n"
            for command in commands { page += ".It Xr \(fileName(command, table)) 1\n\(text(command.summary + "."))" }
            page += ".El\n"
        }
        page += ".Sh ENVIRONMENT\n"
        page += text("Every option --some-name is also the variable LARDER_SOME_NAME. An option precedes its variable.")
        return ManualPage(name: table.program, text: page + exitStatus)
    }

    private static func page(of command: Command, in table: CommandTable) -> ManualPage {
        let name = fileName(command, table)
        var page =
            head(name, command.summary) + ".Sh SYNOPSIS\n.Nm \(table.program) \(command.name)\n.Op Ar OPTION ...\n"
        if !command.operands.isEmpty { page += ".Ar \(line(command.operands))\n" }
        page += ".Sh DESCRIPTION\n" + text(command.summary + ".")
        for paragraph in command.discussion.split(separator: "\n\n") {
            let isKept = paragraph.split(separator: "\n").contains { $0.hasPrefix(" ") }
            page +=
                isKept ? literal(paragraph.split(separator: "\n").map(String.init)) : ".Pp\n" + text(String(paragraph))
        }
        let also = command.also.map { "'\(table.program) \($0.key)'" }
        if !also.isEmpty { page += ".Pp\n" + text("Also \(also.joined(separator: ", ")).") }
        for group in OptionGroup.groups(of: command, in: table) {
            page += ".Ss \(group.title.prefix(1).uppercased() + group.title.dropFirst())\n.Bl -tag -width Ds\n"
            for option in group.options {
                let short = option.short.map { "Fl \($0) , " } ?? ""
                let value = option.placeholder.map { " Ar \($0)" } ?? ""
                page += ".It \(short)Fl Fl \(option.name)\(value)\n\(text(option.help))"
            }
            page += ".El\n"
        }
        page += exitStatus
        if !command.examples.isEmpty { page += ".Sh EXAMPLES\n" + literal(command.examples) }
        return ManualPage(name: name, text: page + ".Sh SEE ALSO\n.Xr \(table.program) 1\n")
    }

    private static var exitStatus: String {
        var text = ".Sh EXIT STATUS\n.Bl -tag -width Ds\n"
        for (code, meaning) in ExitCode.meanings { text += ".It \(code)\n\(meaning)\n" }
        return text + ".El\n"
    }

    private static func fileName(_ command: Command, _ table: CommandTable) -> String {
        "\(table.program)-" + command.words.joined(separator: "-")
    }

    private static func literal(_ lines: [String]) -> String {
        ".Bd -literal -offset indent\n" + lines.map { line($0) + "\n" }.joined() + ".Ed\n"
    }

    /// Lines of text, one per sentence.
    private static func text(_ text: String) -> String {
        text.replacing(/([.?!:]\)?) (?=[A-Z'])/) { "\($0.1)\n" }.split(separator: "\n").flatMap {
            WrappedText.lines(String($0), width: 76)
        }.map { line($0) + "\n" }.joined()
    }

    private static func line(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\e")
        return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
    }
}
