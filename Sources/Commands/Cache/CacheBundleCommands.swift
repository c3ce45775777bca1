import CommandLine
import Concurrency
import DiskCache
import Glibc
import ImageModel
import JobQueue
import ObjectStore
import Reports
import Terminal

extension Command {
    static let cacheExport = Command(
        words: ["cache", "export"], operands: "",
        summary: "Write what a batch stored for an app: a bundle, which is a read-only cache, or an image table",
        discussion: """
            A bundle contains manifest.jsonl and default/<file>. It is an archive when the output ends in .tar.zst or .tzst, else a
            directory, which must not exist; the endings of other archives are refused. The same files give the same bytes.
            Files that the cache no longer has, or that differ from their record, are reported and left out; the exit code is
            then 1. With --naming the bundle has the keys and names of that library; a variant that it cannot make is reported
            and left out, too. Kingfisher reads the modification dates, which the archive and the directory have.
            --as yycache writes a directory of YYCache, with one image for each URL.
            --as fastimagecache writes DIR/ImageTables/NAMESPACE/NAME.imageTable and .metadata for FastImageCache: uncompressed
            images of one variant and one size, the first image's. An existing table of the same format is extended, one of
            another format is emptied. The entity of an image is the MD5 of the variant's key, the source the MD5 of the original's
            key and digest. An app deletes a table whose size in points, scale, style, maximum, family, devices or protection differ
            from its own format's. Images of another size are reported and left out, too.
            """,
        examples: [
            "larder cache export --batch spring -o spring.tar.zst",
            "larder cache export --batch spring --as yycache --variant thumb -o images",
            "larder cache export --as fastimagecache --batch spring --variant thumb -o tables",
        ],
        options: CachePlace.options + [
            Option("batch", .value("BATCH"), "the batch, by name or number"),
            Option("output", short: "o", .value("PATH"), "the bundle to write, or the directory of another format"),
            Option("as", .value("FORMAT"), "bundle (default), fastimagecache or yycache"),
            Option("manifest-only", "write only the manifest, to PATH or to standard output"),
            Settings.databaseOption,
        ] + ImageTableExport.options
    ) { arguments in
        let format = try arguments.choice("as", of: ["bundle", "fastimagecache", "yycache"])
        if format == "fastimagecache" { return try await ImageTableExport.write(arguments) }
        guard let name = try arguments.value("batch") else { throw CommandError.usage("cache export needs --batch") }
        if format == "yycache" { return try await exportYYCache(of: name, arguments) }
        guard try arguments.value("variant") == nil else {
            throw CommandError.usage("cache export: --variant needs --as yycache or fastimagecache")
        }
        let isManifestOnly = arguments.flag("manifest-only")
        let output = try arguments.output(of: "cache export")
        guard output != nil || isManifestOnly else { throw CommandError.usage("cache export needs --output") }
        let form = isManifestOnly ? nil : try output.map(BundleOutput.Form.init)
        let place = try CachePlace(toExport: arguments)
        let naming = try NamingOption.naming(arguments)
        let isRenamed = place.store.naming.name != naming.name
        let queue = try await Settings(arguments).openQueue()
        var names = BundleNames(naming, queue)
        let batch = try await queue.id(ofBatch: name)

        var entries: [ManifestEntry] = []
        var missing = 0
        var changed = 0
        var refused = 0
        var progress = WalkProgress("files read")
        try await queue.forEachFile(of: batch, in: place) { record, file, entry in
            if let entry, file.sha256 ?? entry.sha256 == entry.sha256 {
                do {
                    entries.append(isRenamed ? try await names.rename(entry, of: file, in: record) : entry)
                } catch let error as VariantError {
                    refused += 1
                    Console.note("larder: no file in the naming \(naming.name): \(file.name ?? ""): \(error)")
                }
            } else if entry != nil {
                changed += 1
                Console.note("larder: changed since the batch stored it: \(ShownURL.masked(file.key))")
            } else {
                missing += 1
                Console.note("larder: no longer in the cache: \(ShownURL.masked(file.key))")
            }
            progress.count()
        }
        progress.end()
        if isManifestOnly {
            try BundleOutput.writeManifest(entries, to: output)
        } else if let output, let form {
            let export = BundleExport(place.store, naming: naming)
            try await BundleOutput.write(entries, from: names.sources, export, place, to: output, as: form)
        }
        // Without an output, standard output is the manifest.
        if output != nil {
            let bytes = entries.reduce(0) { $0 + $1.bytes }
            try Console.show(
                [
                    "files": entries.count, "bytes": bytes, "missing": missing, "changed": changed, "refused": refused,
                ], arguments,
                output: output,
                "\(entries.count.counted("file")), \(ByteCount(bytes).text)"
                    + (missing > 0 ? "; \(missing) no longer in the cache" : "")
                    + (changed > 0 ? "; \(changed) different from their record" : "")
                    + (refused > 0 ? "; \(refused) without a name in \(naming.name)" : ""))
        }
        return missing + changed + refused == 0 ? .done : .failed
    }

    static let cacheImport = Command(
        words: ["cache", "import"], operands: "BUNDLE",
        summary: "Store the files of a bundle in the cache, each compared with the manifest",
        discussion: """
            BUNDLE is an archive or a directory, as 'cache export' writes them. A file is stored only when it matches the manifest.
            A file that the cache has with other contents stays, because it may be newer than the bundle; --replace stores the
            bundle's. An incomplete bundle is an error; files stored before it remain.
            """,
        examples: ["larder cache import spring.tar.zst"],
        options: [Option("replace", "replace files of the cache whose contents differ from the bundle's")]
            + CachePlace.options + StoreOptions.options
    ) { arguments in
        let bundle = try arguments.operand("BUNDLE", of: "cache import")
        let place = try CachePlace(arguments)
        let durability = try StoreOptions.durability(arguments)
        let permissions = try StoreOptions.permissions(arguments)
        let replaces = arguments.flag("replace")
        let layout = place.store is S3Store ? nil : try place.layout(of: "cache import")
        guard !place.store.naming.mayShareNames else {
            throw CommandError.usage("cache import: --naming cannot be a template")
        }
        let report = try await place.disk.run { [given = place.store, layout] in
            var store = given
            if let layout {
                store = try DirectoryStore(
                    opening: layout.root, namespace: layout.namespace, naming: layout.naming, durability: durability,
                    permissions: permissions)
            }
            // A cache that Larder has stored to has an id.
            _ = try store.cacheID
            var progress = WalkProgress("files imported")
            defer { progress.end() }
            return try BundleImport(into: store, replacing: replaces).run(bundle) { progress.count() }
        }
        try Console.show(
            ["stored": report.stored, "present": report.present, "kept": report.kept, "bytes": report.bytes], arguments,
            "\(report.stored) files stored, \(ByteCount(report.bytes).text); \(report.present) were already stored"
                + (report.kept > 0 ? "; \(report.kept) with other contents were kept, see --replace" : ""))
        return .done
    }
}

private enum BundleOutput {
    enum Form {
        case archive, directory

        /// By the path's extension. Refuses other archive extensions, since the user does not expect a directory.
        init(_ output: String) throws(CommandError) {
            let name = output.split(separator: "/").last?.lowercased() ?? ""
            if output == OutputFile.standard {
                self = .archive
            } else if name.hasSuffix(".tar.zst") || name.hasSuffix(".tzst") {
                self = .archive
            } else if let other = Self.otherArchives.first(where: { name.hasSuffix($0) }) {
                throw .usage(
                    "cache export cannot write \(other); use .tar.zst or .tzst, or a directory without such an ending")
            } else {
                self = .directory
            }
        }

        private static let otherArchives = [
            ".tar", ".zst", ".zip", ".gz", ".tgz", ".xz", ".txz", ".bz2", ".tbz", ".tbz2", ".7z", ".rar", ".lz4",
            ".lzma", ".cpio", ".jar", ".apk", ".ipa", ".dmg", ".iso", ".car", ".json", ".jsonl",
        ]
    }

    static func write(
        _ entries: [ManifestEntry], from sources: [String: String], _ export: BundleExport, _ place: CachePlace,
        to output: String, as form: Form
    ) async throws {
        let file = form == .archive ? try OutputFile(output) : nil
        try await place.disk.run { [descriptor = file?.descriptor] in
            var progress = WalkProgress("files written", of: entries.count)
            defer { progress.end() }
            if let descriptor {
                try export.write(entries, from: sources, to: descriptor, path: output) { progress.count() }
            } else {
                try export.write(entries, from: sources, toDirectory: output) { progress.count() }
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
