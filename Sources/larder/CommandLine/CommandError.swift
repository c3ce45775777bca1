import DiskCache
import Downloader
import EmbeddedPostgres
import Glibc
import ImageModel
import JobQueue
import Prefetcher
import Transcoder

/// The error that ends a command. docs/errors.md lists the codes; LarderErrorDomain below 100 is the command line's.
struct CommandError: Error, Sendable {
    let domain: String
    let code: Int
    let message: String
    var exit = ExitCode.failed

    /// Wrong usage: code 1, exit code 2.
    static func usage(_ message: String) -> CommandError {
        larder(1, message, exit: .wrongUsage)
    }

    /// The same error with `text` after its message.
    func adding(_ text: String) -> CommandError {
        CommandError(domain: domain, code: code, message: "\(message); \(text)", exit: exit)
    }

    static func larder(_ code: Int, _ message: String, exit: ExitCode = .failed) -> CommandError {
        CommandError(domain: "LarderErrorDomain", code: code, message: message, exit: exit)
    }

    /// A file that cannot be opened, read or written, for the reason in `errno`.
    static func file(_ verb: String, _ path: String) -> CommandError {
        larder(2, "cannot \(verb) \(path): \(String(cString: strerror(errno)))")
    }

}

extension CommandError {
    /// The error of any module.
    init(_ error: any Error) {
        switch error {
        case let error as CommandError:
            self = error
        case let error as VariantError:
            self.init(domain: "LarderErrorDomain", code: 4, message: "\(error)", exit: .wrongUsage)
        case let error as StoreError:
            self = .larder(403, error.description)
        case let error as FetchError:
            self.init(domain: error.domain, code: error.domainCode, message: error.message)
        case let error as TranscodeError:
            self.init(domain: error.domain, code: error.code.rawValue, message: error.message)
        case let error as QueueError:
            self = .larder(5, error.description + (error.code == .notMigrated ? "; run 'larder migrate'" : ""))
        case let error as ClusterError:
            self = .larder(6, error.description)
        default:
            self = .larder(0, "\(error)")
        }
    }
}
