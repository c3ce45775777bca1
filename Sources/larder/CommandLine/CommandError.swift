import DiskCache
import Downloader
import EmbeddedPostgres
import Glibc
import ImageModel
import JobQueue
import Prefetcher
import Transcoder

/// The error that ends a command; docs/errors.md lists the codes.
struct CommandError: Error, Sendable {
    /// The codes below 100 of Larder's domain, which are the command line's.
    enum Code: Int {
        case other, usage, file, timeLimit, invalidJSON, database, embeddedDatabase, badLine, configuration
    }

    let domain: String
    let code: Int
    let message: String
    var exit = ExitCode.failed

    /// Wrong usage: code 1, exit code 2.
    static func usage(_ message: String) -> CommandError {
        larder(.usage, message, exit: .wrongUsage)
    }

    /// The same error with `text` after its message.
    func adding(_ text: String) -> CommandError {
        CommandError(domain: domain, code: code, message: "\(message); \(text)", exit: exit)
    }

    /// The same error with the command before its message.
    func of(_ command: Command) -> CommandError {
        CommandError(domain: domain, code: code, message: "\(command.name): \(message)", exit: exit)
    }

    static func larder(_ code: Code, _ message: String, exit: ExitCode = .failed) -> CommandError {
        CommandError(domain: FailureCode.Domain.larder, code: code.rawValue, message: message, exit: exit)
    }

    /// A file that cannot be opened, read or written, for the reason in `errno`.
    static func file(_ verb: String, _ path: String) -> CommandError {
        larder(.file, "cannot \(verb) \(path): \(String(cString: strerror(errno)))")
    }
}

extension CommandError {
    private init(_ code: FailureCode, _ message: String) {
        self.init(domain: code.domain, code: code.code, message: message)
    }

    /// The error of any module.
    init(_ error: any Error) {
        switch error {
        case let error as CommandError:
            self = error
        case let error as VariantError:
            self = .larder(.invalidJSON, "\(error)", exit: .wrongUsage)
        case let error as StoreError:
            let hint =
                error.code == .permission
                ? "; run as the user of the cache, or share it by --group, --directory-mode 2775 and --file-mode 0664"
                : ""
            self.init(.storeFailed, error.description + hint)
        case let error as FetchError:
            self.init(error.failureCode, error.message)
        case let error as TranscodeError:
            self.init(error.failureCode, error.message)
        case let error as QueueError:
            self = .larder(.database, error.description + (error.code == .notMigrated ? "; run 'larder migrate'" : ""))
        case let error as ClusterError:
            self = .larder(.embeddedDatabase, error.description)
        default:
            self = .larder(.other, "\(error)")
        }
    }
}
