import Concurrency
import DiskCache

extension Command {
    static let cacheTrim = Command(
        words: ["cache", "trim"], operands: "",
        summary: "Delete what has expired, by SDWebImage's rules",
        discussion: """
            First what is older than --max-age; then, when the rest takes more than --max-size, the oldest until less than
            half of that is taken. Hidden files are never touched. While a worker has the cache open, what was stored or read
            within --spare stays. Interrupted at any point it has deleted only what was due.
            """,
        options: CachePlace.options + ExpiryOptions.options + [
            Option("spare", .value("DURATION"), "while a worker is at work, keep what was used so lately; default 15m"),
            Option("files", "print every file that goes"),
            Option("dry-run", "delete nothing, tell what would go"),
        ]
    ) { arguments in
        let place = try CachePlace(ofExisting: arguments)
        let policy = try ExpiryOptions.policy(arguments) ?? ExpiryPolicy()
        let isDryRun = arguments.flag("dry-run")
        let expiry = Expiry(
            place.layout, policy: policy, sparing: try arguments.duration("spare") ?? .seconds(900),
            isDryRun: isDryRun)
        let isJSON = arguments.flag("json")
        let listsFiles = arguments.flag("files")
        let total = await place.total()
        let report = try await place.disk.run {
            var progress = WalkProgress("files seen", of: total)
            defer { progress.end() }
            return try expiry.run(
                deleted: { file in
                    guard listsFiles else { return }
                    let line = ExpiredLine(file)
                    if isJSON { try? Console.json(line) } else { Console.line("\(line.file)\t\(line.reason)") }
                },
                progress: { report in
                    progress.count(", \(report.aged.files + report.crowded.files) deleted")
                    return true
                })
        }
        if isJSON {
            try Console.json(ExpiryLine(report, isDryRun: isDryRun))
        } else {
            Console.line(ExpiryLine(report, isDryRun: isDryRun).text)
        }
        if let failure = report.firstFailure { Console.report(CommandError(failure), asJSON: isJSON) }
        return report.firstFailure == nil ? .done : .failed
    }
}

/// How a command's options say what expires.
enum ExpiryOptions {
    static let options = [
        Option("max-age", .value("DURATION"), "files this old go, default 7d; 'never' for no age"),
        Option("max-size", .value("SIZE"), "when more is taken, the oldest go until half of it is; default no limit"),
        Option("expire-by", .value("DATE"), "access (default), modification, creation or change"),
    ]

    /// The policy that the options ask for; nil when they ask for none.
    ///
    /// - Parameter other: the age where only something else is asked for; SDWebImage's by default.
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

    init(_ file: ExpiredFile) {
        self.file = file.path
        bytes = file.allocated
        date = file.date.seconds
        reason = file.reason.rawValue
    }
}

/// What an expiry did, as it is printed; bytes as taken on the disk.
struct ExpiryLine: Encodable {
    let files, bytes, deleted, deletedBytes, byAge, bySize, spared, failed, kept, keptBytes: Int
    let dryRun: Bool

    init(_ report: ExpiryReport, isDryRun: Bool) {
        files = report.seen.files
        bytes = report.seen.bytes
        deleted = report.aged.files + report.crowded.files
        deletedBytes = report.aged.bytes + report.crowded.bytes
        byAge = report.aged.files
        bySize = report.crowded.files
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
