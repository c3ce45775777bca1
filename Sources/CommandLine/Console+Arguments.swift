import Glibc
package import Terminal

extension Console {
    /// Prints a result as JSON with `--json`, else as a line of text.
    package static func show(_ value: some Encodable, _ arguments: Arguments, _ text: @autoclosure () -> String) throws
    {
        if arguments.flag("json") { try json(value) } else { line(text()) }
    }

    package static func show(_ object: JSONObject, _ arguments: Arguments, _ text: @autoclosure () -> String) throws {
        if arguments.flag("json") { try json(object) } else { line(text()) }
    }

    /// Prints the result of a command that wrote `output`: to standard error if `output` is standard output.
    package static func show(
        _ object: JSONObject, _ arguments: Arguments, output: String?, _ text: @autoclosure () -> String
    ) throws {
        if output == OutputFile.standard { note(text()) } else { try show(object, arguments, text()) }
    }

    /// Prints the error after which a command continued, if any.
    package static func report(_ error: (any Error)?, _ arguments: Arguments) -> ExitCode {
        guard let error else { return .done }
        report(CommandError(error), asJSON: arguments.flag("json"))
        return .failed
    }
}

/// The option `--quiet`, for commands whose output is mailed: prints nothing if all is well.
package enum Quiet {
    package static let name = "quiet"
    package static let work = option("no log, and no result when no job failed and nothing is left")
    package static let run = option("no progress, and the report only when an item failed or is left")
    package static let enqueue = option("no result when every URL is good")
    package static let report = option("no report of a batch that is finished without a failure")

    private static func option(_ help: String) -> Option { Option(name, short: "q", help) }
}

/// Asks before a command deletes data that is expensive to restore.
package enum Confirmation {
    package static let option = Option("yes", "do not ask; required where standard input is no terminal")

    /// Returns after `y` or `yes` on the terminal, or immediately with `--yes`.
    ///
    /// - Parameter what: the action, such as `delete every image of /srv/cache`.
    /// - Throws: wrong usage without a terminal and `--yes`; an error for another answer.
    package static func ask(_ what: String, _ arguments: Arguments, of command: String) throws(CommandError) {
        if arguments.flag(option.name) { return }
        guard Console.isTerminal(STDIN_FILENO), !arguments.flag("json") else {
            throw .usage("\(command): would \(what); --yes confirms that")
        }
        Console.noteRaw("larder: \(PrintableText.text(what))? [y/N] ")
        guard ["y", "yes"].contains(readLine()?.lowercased() ?? "") else {
            throw .larder(.other, "nothing was changed")
        }
    }
}
