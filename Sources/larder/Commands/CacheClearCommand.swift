import Concurrency
import DiskCache

extension Command {
    static let cacheClear = Command(
        words: ["cache", "clear"], operands: "",
        summary: "Delete every image of the cache",
        discussion: "Files that a worker is writing remain, as do those that it stores later.",
        examples: ["larder cache clear --dry-run"],
        options: CachePlace.options + [Option("dry-run", "delete nothing, print what would be deleted")]
    ) { arguments in
        struct Line: Encodable, Sendable {
            var deleted = 0
            var deletedBytes = 0
            var dryRun = false
        }
        let place = try CachePlace(ofExisting: arguments)
        let isDryRun = arguments.flag("dry-run")
        let total = await place.total()
        let line = try await place.disk.run { [store = place.store] in
            var line = Line(dryRun: isDryRun)
            var progress = WalkProgress(isDryRun ? "files seen" : "files deleted", of: total)
            defer { progress.end() }
            try store.clear(isDryRun: isDryRun) { entry in
                line.deleted += 1
                line.deletedBytes += entry.allocated
                progress.count()
            }
            return line
        }
        let verb = isDryRun ? "would be deleted" : "deleted"
        try Console.show(line, arguments, "\(line.deleted) files \(verb), \(ByteCount(line.deletedBytes).text)")
        return .done
    }
}
