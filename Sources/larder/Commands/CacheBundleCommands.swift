import Concurrency
import DiskCache
import Glibc
import ImageModel
import JobQueue

/// Bundles: the files of a batch with a manifest, out of one cache and into another.
extension Command {
    static let cacheExport = Command(
        words: ["cache", "export"], operands: "",
        summary: "Make a bundle of what a batch stored: a read-only cache for an app",
        discussion: """
            A bundle holds manifest.jsonl and default/<file>: an archive when the output ends in .tar.zst or .tzst, else a
            directory that must not be there yet; the ends of other archives are refused. The same files always give the same bytes. What the batch stored and the
            cache has no longer, or no longer as its record says, is told, and left out; the exit code is then 1.
            """,
        options: CachePlace.options + [
            Option("batch", .value("BATCH"), "the batch, by name or number"),
            Option("output", short: "o", .value("PATH"), "where to write it"),
            Option("manifest-only", "write the manifest alone, to PATH or to standard output"),
            Settings.databaseOption,
        ]
    ) { arguments in
        guard let name = try arguments.value("batch") else { throw CommandError.usage("cache export: which --batch?") }
        let isManifestOnly = arguments.flag("manifest-only")
        let output = try arguments.value("output")
        guard output != nil || isManifestOnly else { throw CommandError.usage("cache export: to which --output?") }
        let form = isManifestOnly ? nil : try output.map(BundleOutput.Form.init)
        let place = try CachePlace(arguments)
        let queue = try await Settings(arguments).openQueue()
        let batch = try await queue.progress(of: try await queue.batch(called: name)).id

        var entries: [ManifestEntry] = []
        var missing = 0
        var changed = 0
        var progress = WalkProgress("files read")
        try await BatchFiles(queue: queue, place: place).visit(batch) { file, entry in
            if let entry, file.sha256 ?? entry.sha256 == entry.sha256 {
                entries.append(entry)
            } else if entry != nil {
                changed += 1
                Console.note("larder: no longer what the batch stored: \(file.key)")
            } else {
                missing += 1
                Console.note("larder: no longer in the cache: \(file.key)")
            }
            progress.count()
        }
        progress.end()
        if isManifestOnly {
            try BundleOutput.writeManifest(entries, to: output)
        } else if let output, let form {
            try await BundleOutput.write(entries, of: place, to: output, as: form)
        }
        // Standard output may be the manifest itself.
        if output != nil {
            try BundleLine(entries, missing: missing, changed: changed).show(asJSON: arguments.flag("json"))
        }
        return missing + changed == 0 ? .done : .failed
    }

    static let cacheImport = Command(
        words: ["cache", "import"], operands: "BUNDLE",
        summary: "Take a bundle into the cache, every file compared with its manifest",
        discussion: """
            BUNDLE is an archive or a directory, as 'cache export' writes them. A file gets its name only when it is what the
            manifest says; a bundle that is not whole ends with an error, and what was stored before stays.
            """,
        options: CachePlace.options + StoreOptions.options
    ) { arguments in
        struct Line: Encodable {
            let stored, present, bytes: Int
        }
        let operands = try arguments.operands()
        guard operands.count == 1 else { throw CommandError.usage("cache import: one BUNDLE") }
        let place = try CachePlace(arguments)
        let durability = try StoreOptions.durability(arguments)
        let permissions = try StoreOptions.permissions(arguments)
        let report = try await place.disk.run { [layout = place.layout] in
            let cache = try DiskCache(
                opening: layout.root, namespace: layout.namespace, durability: durability, permissions: permissions)
            var progress = WalkProgress("files taken in")
            defer { progress.end() }
            return try BundleImport(into: cache).take(operands[0]) { progress.count() }
        }
        if arguments.flag("json") {
            try Console.json(Line(stored: report.stored, present: report.present, bytes: report.bytes))
        } else {
            Console.line(
                "\(report.stored) files stored, \(ByteCount(report.bytes).text); \(report.present) were there already")
        }
        return .done
    }
}

/// Where a bundle goes.
private enum BundleOutput {
    enum Form {
        case archive, directory

        /// By the end of the path. A name that promises another kind of archive would be a directory that nobody expects.
        init(_ output: String) throws(CommandError) {
            let name = output.split(separator: "/").last?.lowercased() ?? ""
            if name.hasSuffix(".tar.zst") || name.hasSuffix(".tzst") {
                self = .archive
            } else if let other = Self.otherArchives.first(where: { name.hasSuffix($0) }) {
                throw .usage(
                    "cache export: \(other) is not written; name a .tar.zst or .tzst, or a directory without such an end"
                )
            } else {
                self = .directory
            }
        }

        private static let otherArchives = [
            ".tar", ".zst", ".zip", ".gz", ".tgz", ".xz", ".txz", ".bz2", ".tbz", ".tbz2", ".7z", ".rar", ".lz4",
            ".lzma",
            ".cpio", ".jar", ".apk", ".ipa", ".dmg", ".iso", ".car", ".json", ".jsonl",
        ]
    }

    static func write(
        _ entries: [ManifestEntry], of place: CachePlace, to output: String, as form: Form
    ) async throws {
        let export = BundleExport(place.layout)
        let file = form == .archive ? try OutputFile(output) : nil
        try await place.disk.run { [descriptor = file?.descriptor] in
            var progress = WalkProgress("files written", of: entries.count)
            defer { progress.end() }
            if let descriptor {
                try export.write(entries, to: descriptor, path: output) { progress.count() }
            } else {
                try export.write(entries, toDirectory: output) { progress.count() }
            }
        }
        try file?.keep()
    }

    static func writeManifest(_ entries: [ManifestEntry], to output: String?) throws {
        let lines = entries.sorted { $0.file.utf8.lexicographicallyPrecedes($1.file.utf8) }.map(\.line)
        guard let output else { return lines.forEach(Console.line) }
        let file = try OutputFile(output)
        try file.write(Array(lines.map { $0 + "\n" }.joined().utf8))
        try file.keep()
    }
}

/// What a bundle holds.
private struct BundleLine: Encodable {
    let files, bytes, missing, changed: Int

    init(_ entries: [ManifestEntry], missing: Int, changed: Int) {
        files = entries.count
        bytes = entries.reduce(0) { $0 + $1.bytes }
        self.missing = missing
        self.changed = changed
    }

    func show(asJSON isJSON: Bool) throws {
        if isJSON { return try Console.json(self) }
        Console.line(
            "\(files) files, \(ByteCount(bytes).text)"
                + (missing > 0 ? "; \(missing) are no longer in the cache" : "")
                + (changed > 0 ? "; \(changed) are no longer what was stored" : ""))
    }
}
