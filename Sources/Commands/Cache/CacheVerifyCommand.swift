import CommandLine
import Concurrency
import DiskCache
import ImageModel
import Reports
import Terminal
import Transcoder

extension Command {
    static let cacheVerify = Command(
        words: ["cache", "verify"], also: ["cache share": "--share"], operands: "",
        summary: "Check that the files of the cache are whole, or let equal files share their blocks",
        discussion: """
            A transcoder decodes every file. The files of a manifest (--manifest, else manifest.jsonl in the cache root, as in a
            bundle) are first compared by name, length and SHA-256. Prints one line per fault
            {"file":...,"fault":"missing|empty|length|digest|name|unreadable|undecodable","message":...}, then the counts. The
            exit code is 1 when there is a fault. --remove deletes the files whose contents prove the fault: empty, length,
            digest, undecodable. An unreadable file stays, because the server or a permission may be the cause, and so does a
            file of unknown format, which may be an own coder's. Access times do not change.
            --share lets files with the same contents share their blocks (XFS, btrfs), as several URLs or variants can have
            the same image; the kernel compares the files. Names, dates and attributes stay, so expiry is not affected. Files
            of less than 4096 bytes are skipped. It can run while workers run, and can be interrupted at any point.
            """,
        examples: ["larder cache verify", "larder cache verify --remove --yes", "larder cache verify --share"],
        options: CachePlace.options + Limits.transcodeOptions + [
            Option("manifest", .value("FILE"), "compare with this manifest"),
            Option("no-decode", "do not decode the files"),
            Option("remove", "delete files whose contents are faulty, so that they are fetched again"),
            Option("dry-run", "with --remove: delete nothing; with --share: share nothing"), Confirmation.option,
        ] + BlockSharing.options
    ) { arguments in
        if arguments.isGiven("share") {
            for option in ["manifest", "no-decode", "remove"] where arguments.isGiven(option) {
                throw CommandError.usage("cache verify: --share and --\(option) exclude each other")
            }
            return try await BlockSharing.run(arguments)
        }
        let removes = arguments.flag("remove") && !arguments.flag("dry-run")
        let place = removes ? try await CachePlace(ofOwn: arguments) : try CachePlace(ofExisting: arguments)
        if removes {
            try Confirmation.ask("delete every damaged file of \(place.title)", arguments, of: "cache verify --remove")
        }
        let configuration = try Limits.transcoders(arguments)
        let pool = arguments.flag("no-decode") ? nil : TranscoderPool(configuration: configuration)
        var verification = CacheVerification(
            place: place, arguments: arguments, limits: configuration.limits, removes: removes)
        let manifest = try arguments.value("manifest") ?? place.manifest
        if let manifest { try await verification.compare(with: manifest) }
        if let pool {
            try await verification.decodeAll(pool)
            await pool.shutdown()
        } else if manifest == nil {
            try await verification.checkAll()
        }
        let counts = verification.counts
        try Console.show(counts, arguments, counts.text)
        return counts.faults == 0 ? .done : .failed
    }
}

/// Lets files share blocks, for `cache verify --share`.
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
