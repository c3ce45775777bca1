import CommandLine
import Concurrency
import DiskCache
import Reports
import Terminal

/// Lets files share their blocks, as `cache verify --share` does.
enum BlockSharing {
    static let options = [
        Option("share", "in place of the check, let files with the same contents share their blocks on the disk"),
        Option("files", "with --share: print every file that shares the blocks of another one"),
    ]

    static func run(_ arguments: Arguments) async throws -> ExitCode {
        let place = try CachePlace(ofExisting: arguments)
        let layout = try place.layout(of: "cache verify --share")
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
