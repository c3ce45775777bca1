import CommandLine
import Concurrency
import DiskCache
import Reports
import Terminal

extension Command {
    static let cacheShare = Command(
        words: ["cache", "share"], operands: "",
        summary: "Let files with the same contents share their blocks on the disk",
        discussion: """
            Several URLs or variants can have the same image. The kernel compares such files and lets them share their blocks
            (XFS, btrfs). Names, dates and attributes stay, so expiry is not affected. Files of less than 4096 bytes are skipped.
            The command can run while workers run, and can be interrupted at any point.
            """,
        examples: ["larder cache share --dry-run"],
        options: CachePlace.options + [
            Option("files", "print every file that shares the blocks of another one"),
            Option("dry-run", "share nothing, print what could be shared"),
        ]
    ) { arguments in
        let place = try CachePlace(ofExisting: arguments)
        let layout = try place.layout(of: "cache share")
        let isDryRun = arguments.flag("dry-run")
        let listsFiles = arguments.flag("files")
        let total = await place.total(isSlow: true)
        let report = try await place.disk.run { [layout] in
            var progress = WalkProgress("files seen", of: total)
            defer { progress.end() }
            return try Reflink(DirectoryStore(layout), isDryRun: isDryRun).run(
                shared: { file, first in
                    guard listsFiles else { return }
                    try? Console.show(["file": file, "sharesWith": first], arguments, "\(file)\t\(first)")
                },
                progress: { report in progress.count("\(report.shared) shared") })
        }
        let verb = isDryRun ? "could share" : "share"
        try Console.show(
            [
                "files": report.seen, "read": report.read, "shared": report.shared, "sharedBytes": report.sharedBytes,
                "failed": report.failed, "dryRun": isDryRun,
            ], arguments,
            "\(report.shared) of \(report.seen) files \(verb) the blocks of another one, "
                + ByteCount(report.sharedBytes).text
                + (report.failed > 0 ? "; \(report.failed) could not be read or shared" : ""))
        return Console.report(report.firstFailure, arguments)
    }
}
