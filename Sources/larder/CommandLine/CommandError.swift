/// What ends a command: a domain and code for machines, one line for people.
struct CommandError: Error, Sendable {
    let domain: String
    let code: Int
    let message: String
    /// The exit code it leads to.
    var exit = ExitCode.failed

    /// Wrong usage: LarderErrorDomain 1, exit code 2.
    static func usage(_ message: String) -> CommandError {
        CommandError(domain: "LarderErrorDomain", code: 1, message: message, exit: .wrongUsage)
    }

    /// A failure of Larder's own domain.
    static func larder(_ code: Int, _ message: String) -> CommandError {
        CommandError(domain: "LarderErrorDomain", code: code, message: message)
    }
}
