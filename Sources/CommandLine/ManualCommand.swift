import Terminal

extension Command {
    /// The command `manual` of a program.
    ///
    /// - Parameter table: the program; read when the command runs.
    package static func manual(of program: String, _ table: @escaping @Sendable () -> CommandTable) -> Command {
        Command(
            words: ["manual"], operands: "DIR",
            summary: "Write the man pages of all commands into a directory",
            discussion: "The directory must exist. Files of the same names are replaced.",
            examples: ["\(program) manual /usr/local/share/man/man1"],
            options: []
        ) { arguments in try write(ManualPage.all(of: table()), arguments) }
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
}
