import Concurrency
import DiskCache

extension Command {
    static let cacheClear = Command(
        words: ["cache", "clear"], operands: "",
        summary: "Delete every picture of the cache",
        discussion: "What a worker is writing stays its own; what it stores later stays, too.",
        options: CachePlace.options + [Option("dry-run", "delete nothing, tell what would go")]
    ) { arguments in
        struct Line: Encodable, Sendable {
            var deleted = 0
            var deletedBytes = 0
            var dryRun = false
        }
        let place = try CachePlace(ofExisting: arguments)
        let isDryRun = arguments.flag("dry-run")
        let total = await place.total()
        let line = try await place.disk.run { [layout = place.layout] in
            var line = Line(dryRun: isDryRun)
            var progress = WalkProgress(isDryRun ? "files seen" : "files deleted", of: total)
            defer { progress.end() }
            try layout.clear(isDryRun: isDryRun) { entry in
                line.deleted += 1
                line.deletedBytes += entry.allocated
                progress.count()
            }
            return line
        }
        if arguments.flag("json") {
            try Console.json(line)
        } else {
            let verb = isDryRun ? "would be deleted" : "deleted"
            Console.line("\(line.deleted) files \(verb), \(ByteCount(line.deletedBytes).text)")
        }
        return .done
    }
}
