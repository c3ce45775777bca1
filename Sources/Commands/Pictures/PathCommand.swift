import CommandLine
import Concurrency
import DiskCache
import FoundationEssentials
import Glibc
import ImageModel
import JobQueue
import Reports
import Terminal

extension Command {
    static let path = Command(
        words: ["path"], also: ["key": "--names", "cache path": "--plain"], operands: "URL...",
        summary:
            "Print the files of URLs: variant, format, path, whether it is there and since when; and the cache keys",
        discussion: """
            Prints a line of tab-separated URL, variant (or original), format, absolute path and time of storing, or 'missing', for
            the original and each variant. Variants come from --variant, or from a pipeline of the database; there are none by default.
            --plain prints the paths alone. --names ('larder key') prints one JSON object per line, {"variant":null,"key":...,"file":...}
            for the original, then one for each variant and each suffix; it uses no cache and no network, and a database
            for --pipeline alone. A URL is any string. The rules are SDWebImage 5.21.5's, with --naming keys of Kingfisher 8 or Nuke 13.
            """,
        examples: [
            "larder path https://example.com/a.jpg --variant thumb=200x200",
            "larder path https://example.com/a.jpg --pipeline thumbs --json", "larder key https://example.com/a.jpg",
            "larder key https://example.com/a.jpg --naming kingfisher --variant thumb=200x200",
            "larder key 'https://example.com/a.jpg?token=1&v=2' --cache-key '{\"dropQuery\":[\"token\"]}'",
        ],
        options: [
            Option("pipeline", .value("NAME"), "the variants of this pipeline, in its newest version"),
            VariantJSON.option("a variant; repeatable"),
            VariantJSON.cacheKeyOption,
            Option("suffix", .texts("TEXT"), "the key of an app's own transformer; repeatable"),
            AppURLs.option, Option("plain", "print the paths alone"),
            Option("names", "print keys and file names alone; opens no cache"), Settings.databaseOption,
        ] + CachePlace.options
    ) { arguments in
        let urls = try arguments.operands("URL or KEY", of: "path", acceptingEmpty: true)
        let files = try await NamedFile.all(of: urls, arguments)
        if arguments.flag("names") {
            for file in files { try Console.json(["variant": file.variant, "key": file.key?.text, "file": file.name]) }
            return .done
        }
        let place = try CachePlace(arguments)
        for file in files {
            let path = file.name.map(place.location(of:))
            if arguments.flag("plain"), !arguments.flag("json") {
                if let path { Console.line(path) }
                continue
            }
            let stored = try await place.disk.run { [store = place.store] in try file.stored(in: store) }
            let format = stored?.format ?? file.format
            let url = PrintableText.text(ShownURL.masked(file.url))
            try Console.show(
                [
                    "url": ShownURL.text(file.url), "variant": file.variant, "key": file.key?.text, "format": format,
                    "path": file.key.map(place.store.relativePath(of:)), "absolutePath": path, "exists": stored != nil,
                    "storedAt": stored?.at,
                ], arguments,
                [
                    url, file.variant ?? "original", format ?? "unknown", path ?? "none",
                    stored.map { $0.at ?? "stored" } ?? "missing",
                ].joined(separator: "\t"))
        }
        return .done
    }
}

/// A URL's file in a cache: the original or a variant.
private struct NamedFile {
    let url: String
    /// Nil for the original.
    var variant: String?
    /// Nil if the naming cannot store the variant; so is `name`.
    let key: CacheKey?
    let name: String?
    var format: String?

    /// The original and the variants of each URL.
    static func all(of urls: [String], _ arguments: Arguments) async throws -> [NamedFile] {
        var variants = try VariantJSON.variants(try arguments.list("variant"))
        var rule = try VariantJSON.cacheKeyRule(arguments)
        // Ignore its variable, which is meant for enqueueing.
        if arguments.isGiven("pipeline"), let name = try arguments.value("pipeline") {
            guard variants.isEmpty else { throw CommandError.usage("--pipeline and --variant exclude each other") }
            let stored = try await Settings(arguments).openQueue().reports.pipeline(named: name)
            let pipeline = try Pipeline(json: stored.spec.utf8)
            (variants, rule) = (pipeline.variants, rule ?? pipeline.cacheKey)
        }
        let naming = try NamingOption.naming(arguments)
        var added: [(name: String, texts: [String], format: String?)] = []
        for variant in variants {
            let texts = try VariantJSON.checking("--variant \"\(variant.name)\"") { () throws(VariantError) in
                try naming.suffixes(of: variant)
            }
            added.append((variant.name, texts, variant.format?.name))
        }
        added += try arguments.list("suffix").map { ($0, [$0], nil) }
        var app = try AppURLs(arguments)
        return urls.flatMap { given in
            let url = app.url(given)
            let original = CacheKey(rule?.key(of: url) ?? url)
            return [NamedFile(url: url, key: original, name: naming.fileName(of: original))]
                + added.map { variant in
                    let key = naming.variantKey(of: original, suffixes: variant.texts)
                    return NamedFile(
                        url: url, variant: variant.name, key: key, name: key.map(naming.fileName),
                        format: variant.format)
                }
        }
    }

    /// The format and storing time, ISO 8601 in UTC; nil if the store lacks the file. For a bucket neither is known
    /// without a transfer. Blocks.
    func stored(in store: any ImageStore) throws(StoreError) -> (format: String?, at: String?)? {
        guard let name else { return nil }
        guard store.keepsAttributes else { return try store.size(named: name, isUse: false).map { _ in (nil, nil) } }
        guard let file = try store.peek(named: name) else { return nil }
        var status = stat()
        fstat(file.descriptor, &status)
        let at = Date(timeIntervalSince1970: Double(status.st_mtim.tv_sec)).ISO8601Format()
        return (ImageFormat.recognise(try file.bytes(ImageFormat.recognisedBytes))?.name ?? "unknown", at)
    }
}
