import CommandLine
import Concurrency
import DiskCache
import Reports
import Terminal

extension Command {
    /// Deletes every image, and prints how many.
    static func clearCache(_ arguments: Arguments) async throws -> ExitCode {
        let place = try await CachePlace(ofOwn: arguments)
        let isDryRun = arguments.flag("dry-run")
        if !isDryRun {
            try Confirmation.ask("delete every image of \(place.title)", arguments, of: "cache remove")
        }
        let total = await place.total()
        let (deleted, bytes) = try await place.disk.run { [store = place.store] in
            var (deleted, bytes) = (0, 0)
            var progress = WalkProgress(isDryRun ? "files seen" : "files deleted", of: total)
            defer { progress.end() }
            try store.clear(isDryRun: isDryRun) { entry in
                deleted += 1
                bytes += entry.allocated
                progress.count()
            }
            return (deleted, bytes)
        }
        let verb = isDryRun ? "would be deleted" : "deleted"
        try Console.show(
            ["deleted": deleted, "deletedBytes": bytes, "dryRun": isDryRun], arguments,
            "\(deleted.counted("file")) \(verb), \(ByteCount(bytes).text)")
        return .done
    }
}
