import Terminal

extension Command {
    /// The command `manual`.
    ///
    /// - Parameter table: the program's commands; read when the command runs.
    package static func manual(of program: String, _ table: @escaping @Sendable () -> CommandTable) -> Command {
        Command(
            words: ["manual"], also: ["completion": "--completion"], operands: "DIR | --completion SHELL",
            summary: "Write the man pages of all commands into a directory, or print a shell's completion script",
            discussion: """
                The directory must exist. Files of the same names are replaced. The scripts complete commands, options and
                the names of batches.
                """,
            examples: [
                "\(program) manual /usr/local/share/man/man1",
                "\(program) manual --completion bash > /usr/share/bash-completion/completions/\(program)",
            ],
            options: [Option("completion", .value("SHELL"), "print the completion script of bash, zsh or fish")]
        ) { arguments in
            if arguments.isGiven("completion") { return try complete(table(), arguments) }
            return try write(ManualPage.all(of: table()), arguments)
        }
    }

    private static func write(_ pages: [ManualPage], _ arguments: Arguments) throws -> ExitCode {
        let directory = try arguments.operand("DIR", of: "manual")
        for page in pages {
            let path = "\(directory)/\(page.name).1"
            let file = try OutputFile(path)
            try file.write(Array(page.text.utf8))
            try file.keep()
        }
        try Console.show(["pages": pages.count], arguments, "wrote \(pages.count) man pages to \(directory)")
        return .done
    }

    private static func complete(_ table: CommandTable, _ arguments: Arguments) throws -> ExitCode {
        if let operand = try arguments.operands().first {
            throw CommandError.usage("manual: '\(operand)' and --completion exclude each other")
        }
        let name = try arguments.value("completion") ?? ""
        guard let script = CompletionScript(rawValue: name) else {
            let names = CompletionScript.allCases.map(\.rawValue)
            throw CommandError.usage(
                "--completion: '\(name)' is not one of \(names.joined(separator: ", "))"
                    + NearestWord.question(name, among: names))
        }
        let text = script.text(of: table)
        if arguments.flag("json") { try Console.json(["script": text]) } else { Console.write(text) }
        return .done
    }
}
