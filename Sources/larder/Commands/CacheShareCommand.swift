import Concurrency
import DiskCache

extension Command {
    static let cacheShare = Command(
        words: ["cache", "share"], operands: "",
        summary: "Let files with the same bytes share them on the disk",
        discussion: """
            Where several URLs or variants gave the same picture, the kernel compares the files and lets them share their
            blocks (XFS, btrfs). Names, dates and attributes stay as they are: expiry sees no difference. Files of less than
            4096 bytes are left alone. It may run beside workers, and be interrupted at any point.
            """,
        options: CachePlace.options + [
            Option("files", "print every file that shares another one's bytes"),
            Option("dry-run", "share nothing, tell what could be"),
        ]
    ) { arguments in
        struct FileLine: Encodable {
            let file, sharesWith: String
        }
        let place = try CachePlace(ofExisting: arguments)
        let isDryRun = arguments.flag("dry-run")
        let isJSON = arguments.flag("json")
        let listsFiles = arguments.flag("files")
        let total = await place.total(isSlow: true)
        let report = try await place.disk.run { [layout = place.layout] in
            var progress = WalkProgress("files seen", of: total)
            defer { progress.end() }
            return try Reflink(layout, isDryRun: isDryRun).run(
                shared: { file, first in
                    guard listsFiles else { return }
                    if isJSON {
                        try? Console.json(FileLine(file: file, sharesWith: first))
                    } else {
                        Console.line("\(file)\t\(first)")
                    }
                },
                progress: { report in progress.count(", \(report.shared) shared") })
        }
        let line = ReflinkLine(report, isDryRun: isDryRun)
        if isJSON { try Console.json(line) } else { Console.line(line.text) }
        if let failure = report.firstFailure { Console.report(CommandError(failure), asJSON: isJSON) }
        return report.firstFailure == nil ? .done : .failed
    }
}

/// What a sharing did, as it is printed.
private struct ReflinkLine: Encodable {
    let files, read, shared, sharedBytes, failed: Int
    let dryRun: Bool

    init(_ report: ReflinkReport, isDryRun: Bool) {
        files = report.seen
        read = report.read
        shared = report.shared
        sharedBytes = report.sharedBytes
        failed = report.failed
        dryRun = isDryRun
    }

    var text: String {
        let verb = dryRun ? "could share" : "share"
        return "\(shared) of \(files) files \(verb) another one's bytes, \(ByteCount(sharedBytes).text)"
            + (failed > 0 ? "; \(failed) could not be read or shared" : "")
    }
}
