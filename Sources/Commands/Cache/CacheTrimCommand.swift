import CommandLine
import Concurrency
import DiskCache
import Reports
import Terminal

extension Command {
    static let cacheTrim = Command(
        words: ["cache", "trim"], operands: "",
        summary: "Delete expired files, by SDWebImage's rules",
        discussion: """
            First deletes the files older than --max-age; then, if the rest occupies more than --max-size, the oldest until less
            than half of it is occupied. Hidden files stay. While a worker has the cache open, files stored or read within --spare
            stay. An interrupted run has deleted only expired files.
            """,
        examples: ["larder cache trim --max-size 10GiB"],
        options: CachePlace.options + ExpiryOptions.trim + [
            Option(
                "spare", .value("DURATION"), "while a worker has the cache open, keep files used within; default 15m"),
            Option("files", "print every file that is deleted"),
            Option("dry-run", "delete nothing, print what would be deleted"),
        ]
    ) { arguments in
        let isDryRun = arguments.flag("dry-run")
        let place = isDryRun ? try CachePlace(ofExisting: arguments) : try await CachePlace(ofOwn: arguments)
        var policy = try ExpiryOptions.policy(arguments, age: ExpiryPolicy().maxAge)
        if let spare = try arguments.duration("spare") { policy.sparing = spare }
        let listsFiles = arguments.flag("files")
        let total = await place.total()
        let report = try await place.disk.run { [store = place.store, policy] in
            var progress = WalkProgress("files seen", of: total)
            defer { progress.end() }
            return try store.expire(
                policy, now: .now, isDryRun: isDryRun,
                deleted: { file in
                    guard listsFiles else { return }
                    try? Console.show(
                        [
                            "file": file.path, "bytes": file.allocated, "date": file.date.seconds,
                            "reason": file.reason.rawValue,
                        ], arguments, "\(file.path)\t\(file.reason.rawValue)")
                },
                progress: { report in
                    progress.count("\(report.expiredByAge.files + report.expiredBySize.files) deleted")
                    return true
                })
        }
        try Console.show(report.json(isDryRun: isDryRun), arguments, report.text(isDryRun: isDryRun))
        return Console.report(report.firstFailure, arguments)
    }
}

extension ExpiryReport {
    private var deleted: (files: Int, bytes: Int) {
        (expiredByAge.files + expiredBySize.files, expiredByAge.bytes + expiredBySize.bytes)
    }

    /// Bytes are disk usage.
    fileprivate func json(isDryRun: Bool) -> JSONObject {
        [
            "files": seen.files, "bytes": seen.bytes, "deleted": deleted.files, "deletedBytes": deleted.bytes,
            "byAge": expiredByAge.files, "bySize": expiredBySize.files, "spared": spared.files, "failed": failed.files,
            "kept": kept.files, "keptBytes": kept.bytes, "dryRun": isDryRun,
        ]
    }

    fileprivate func text(isDryRun: Bool) -> String {
        var text = "\(deleted.files) of \(seen.files) files \(isDryRun ? "would be deleted" : "deleted")"
        text += " (\(expiredByAge.files) by age, \(expiredBySize.files) by size), \(ByteCount(deleted.bytes).text);"
        text += " \(kept.files) stay, \(ByteCount(kept.bytes).text)"
        if spared.files > 0 { text += "; \(spared.files) stay because they are in use" }
        if failed.files > 0 { text += "; \(failed.files) could not be deleted" }
        return text
    }
}

/// The options for an expiry policy.
enum ExpiryOptions {
    /// For `cache trim`, with SDWebImage's default age.
    static let trim = options(
        age: "delete files of this age, default 7d; 'never' for no age",
        size: "above it, delete the oldest down to half of it; default no limit")
    /// For `work`. By default nothing expires, because a warmed cache must not be emptied.
    static let work = options(
        age: "delete files of this age, every hour and at the end; default: none",
        size: "above it, delete the oldest down to half of it, every hour and at the end; default: none")

    private static func options(age: String, size: String) -> [Option] {
        [
            Option("max-age", .value("DURATION"), age), Option("max-size", .value("SIZE"), size),
            Option("expire-by", .value("DATE"), "access (default), modification, creation or change"),
        ]
    }

    /// - Parameter age: the default of `--max-age`.
    static func policy(_ arguments: Arguments, age: Duration?) throws(CommandError) -> ExpiryPolicy {
        var policy = ExpiryPolicy(maxAge: age)
        if try arguments.value("max-age") == "never" {
            policy.maxAge = nil
        } else if let duration = try arguments.duration("max-age") {
            policy.maxAge = duration
        }
        if let size = try arguments.bytes("max-size") { policy.maxSize = size }
        switch try arguments.choice("expire-by", of: ["access", "modification", "creation", "change"]) {
        case "modification": policy.date = .modification
        case "creation": policy.date = .creation
        case "change": policy.date = .change
        default: policy.date = .access
        }
        return policy
    }
}
