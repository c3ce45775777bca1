import DiskCache
import Downloader
import EmbeddedPostgres
import ImageModel
import JobQueue
package import Terminal
import Transcoder

/// How the errors of all modules end a command: code, message, exit code and remedy.
extension VariantError: EndsCommand {
    package var commandError: CommandError { .larder(.invalidJSON, "\(self)", exit: .wrongUsage) }
}

extension StoreError: EndsCommand {
    package var commandError: CommandError {
        let hint =
            code == .permission
            ? "; --cache or LARDER_HOME selects another place; --group, --directory-mode 2775 and --file-mode 0664 share the "
                + "cache of another user"
            : ""
        return CommandError(.storeFailed, description + hint)
    }
}

extension FetchError: EndsCommand {
    package var commandError: CommandError { CommandError(failureCode, message) }
}

extension TranscodeError: EndsCommand {
    package var commandError: CommandError { CommandError(failureCode, text) }
}

extension QueueError: EndsCommand {
    package var commandError: CommandError {
        .larder(.database, description)
    }
}

extension ClusterError: EndsCommand {
    package var commandError: CommandError { .larder(.embeddedDatabase, description) }
}
