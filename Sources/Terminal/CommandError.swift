import Glibc
package import ImageModel

/// The error that ends a command; docs/errors.md lists the codes.
package struct CommandError: Error, Sendable {
    /// The command line's codes, below 100 in Larder's domain.
    package enum Code: Int {
        case other, usage, file, timeLimit, invalidJSON, database, embeddedDatabase, badLine, configuration
    }

    package let domain: String
    package let code: Int
    package let message: String
    package let exit: ExitCode

    package init(domain: String, code: Int, message: String, exit: ExitCode = .failed) {
        (self.domain, self.code, self.message, self.exit) = (domain, code, message, exit)
    }

    /// Converts any module's error: as its type defines, else by its description.
    package init(_ error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as any EndsCommand: self = error.commandError
        default: self = .larder(.other, "\(error)")
        }
    }

    package init(_ code: FailureCode, _ message: String, exit: ExitCode = .failed) {
        self.init(domain: code.domain, code: code.code, message: message, exit: exit)
    }

    /// Wrong usage: code 1, exit code 2.
    package static func usage(_ message: String) -> CommandError {
        larder(.usage, message, exit: .wrongUsage)
    }

    /// Appends `text` to the message.
    package func adding(_ text: String) -> CommandError {
        CommandError(domain: domain, code: code, message: "\(message); \(text)", exit: exit)
    }

    /// Prefixes the message with the command's name.
    package func of(_ command: String) -> CommandError {
        CommandError(domain: domain, code: code, message: "\(command): \(message)", exit: exit)
    }

    package static func larder(_ code: Code, _ message: String, exit: ExitCode = .failed) -> CommandError {
        CommandError(domain: FailureCode.Domain.larder, code: code.rawValue, message: message, exit: exit)
    }

    /// A file that cannot be opened, read or written, for the reason in `errno`.
    package static func file(_ verb: String, _ path: String) -> CommandError {
        larder(.file, "cannot \(verb) \(path): \(String(cString: strerror(errno)))")
    }
}

/// A module's error with its own domain, code and message for commands.
package protocol EndsCommand: Error {
    var commandError: CommandError { get }
}

/// If several apply, the first in this list is used.
package enum ExitCode: Int32, Sendable {
    case wrongUsage = 2
    case timeLimitReached = 3
    case onlyLaterWorkLeft = 4
    case failed = 1
    case done = 0

    /// Each code's meaning, for the help and the man pages.
    package static let meanings: [(code: Int32, meaning: String)] = [
        (done.rawValue, "done"), (failed.rawValue, "failed"), (wrongUsage.rawValue, "wrong usage"),
        (timeLimitReached.rawValue, "time limit reached with work left"),
        (onlyLaterWorkLeft.rawValue, "only later work left"),
    ]
}
