import Glibc
package import Terminal

/// The question before a command deletes what cannot be had back without work.
package enum Confirmation {
    package static let option = Option("yes", "do not ask; required where standard input is no terminal")

    /// Returns after `y` or `yes` on the terminal, or at once with `--yes`.
    ///
    /// - Parameter what: what is going to happen, such as `delete every image of /srv/cache`.
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
