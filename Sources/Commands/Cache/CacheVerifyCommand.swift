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
