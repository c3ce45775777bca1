import CommandLine
import Concurrency
import DiskCache
import Reports
import Terminal

extension Command {
    static let cacheClear = Command(
        words: ["cache", "clear"], operands: "",
        summary: "Delete every image of the cache",
        discussion:
            "Files that a worker is writing or stores later remain. A directory that Larder never stored to is refused.",
        examples: ["larder cache clear --dry-run", "larder cache clear --yes"],
        options: CachePlace.options + [
            Option("dry-run", "delete nothing, print what would be deleted"), Confirmation.option,
        ]
    ) { arguments in
        let place = try await CachePlace(ofOwn: arguments)
        let isDryRun = arguments.flag("dry-run")
        if !isDryRun {
            try Confirmation.ask("delete every image of \(place.title)", arguments, of: "cache clear")
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
