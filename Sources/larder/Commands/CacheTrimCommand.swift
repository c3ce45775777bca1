import Concurrency
import DiskCache

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
        options: CachePlace.options + ExpiryOptions.options + [
            Option(
                "spare", .value("DURATION"), "while a worker has the cache open, keep files used within; default 15m"),
            Option("files", "print every file that is deleted"),
            Option("dry-run", "delete nothing, print what would be deleted"),
        ]
    ) { arguments in
        let place = try CachePlace(ofExisting: arguments)
        var policy = try ExpiryOptions.policy(arguments) ?? ExpiryPolicy()
        if let spare = try arguments.duration("spare") { policy.sparing = spare }
        let isDryRun = arguments.flag("dry-run")
        let listsFiles = arguments.flag("files")
        let total = await place.total()
        let report = try await place.disk.run { [store = place.store, policy] in
            var progress = WalkProgress("files seen", of: total)
            defer { progress.end() }
            return try store.expire(
                policy, now: .now, isDryRun: isDryRun,
                deleted: { file in
                    guard listsFiles else { return }
                    let line = ExpiredLine(
                        file: file.path, bytes: file.allocated, date: file.date.seconds, reason: file.reason.rawValue)
                    try? Console.show(line, arguments, "\(line.file)\t\(line.reason)")
                },
                progress: { report in
                    progress.count(", \(report.expiredByAge.files + report.expiredBySize.files) deleted")
                    return true
                })
        }
        let line = ExpiryLine(report, isDryRun: isDryRun)
        try Console.show(line, arguments, line.text)
        if let failure = report.firstFailure {
            Console.report(CommandError(failure), asJSON: arguments.flag("json"))
            return .failed
        }
        return .done
    }
}

/// The options that define an expiry policy.
enum ExpiryOptions {
    static let options = [
        Option("max-age", .value("DURATION"), "delete files of this age, default 7d; 'never' for no age"),
        Option("max-size", .value("SIZE"), "above it, delete the oldest down to half of it; default no limit"),
        Option("expire-by", .value("DATE"), "access (default), modification, creation or change"),
    ]

    /// Nil when no option is given.
    ///
    /// - Parameter other: the age without `--max-age`; SDWebImage's by default.
    static func policy(
        _ arguments: Arguments, elseAge other: Duration? = ExpiryPolicy().maxAge
    ) throws(CommandError) -> ExpiryPolicy? {
        let age = try arguments.value("max-age")
        let size = try arguments.bytes("max-size")
        let word = try arguments.value("expire-by")
        guard age != nil || size != nil || word != nil else { return nil }
        var policy = ExpiryPolicy(maxAge: other)
        if age == "never" {
            policy.maxAge = nil
        } else if let duration = try arguments.duration("max-age") {
            policy.maxAge = duration
        }
        if let size { policy.maxSize = size }
        switch word {
        case nil, "access": policy.date = .access
        case "modification": policy.date = .modification
        case "creation": policy.date = .creation
        case "change": policy.date = .change
        case let word?:
            throw .usage("--expire-by: '\(word)' is none of access, modification, creation, change")
        }
        return policy
    }
}

private struct ExpiredLine: Encodable {
    let file: String
    let bytes: Int
    let date: Int
    let reason: String
}

/// A report of expiry as printed; bytes are those occupied on the disk.
struct ExpiryLine: Encodable {
    let files, bytes, deleted, deletedBytes, byAge, bySize, spared, failed, kept, keptBytes: Int
    let dryRun: Bool

    init(_ report: ExpiryReport, isDryRun: Bool) {
        files = report.seen.files
        bytes = report.seen.bytes
        deleted = report.expiredByAge.files + report.expiredBySize.files
        deletedBytes = report.expiredByAge.bytes + report.expiredBySize.bytes
        byAge = report.expiredByAge.files
        bySize = report.expiredBySize.files
        spared = report.spared.files
        failed = report.failed.files
        kept = report.kept.files
        keptBytes = report.kept.bytes
        dryRun = isDryRun
    }

    var text: String {
        var text = "\(deleted) of \(files) files \(dryRun ? "would be deleted" : "deleted")"
        text += " (\(byAge) by age, \(bySize) by size), \(ByteCount(deletedBytes).text);"
        text += " \(kept) stay, \(ByteCount(keptBytes).text)"
        if spared > 0 { text += "; \(spared) spared, as they are in use" }
        if failed > 0 { text += "; \(failed) could not be deleted" }
        return text
    }
}
