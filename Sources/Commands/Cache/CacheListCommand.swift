import CommandLine
import Concurrency
import DiskCache
import ImageModel
import Reports
import Terminal

extension Command {
    static let cacheList = Command(
        words: ["cache", "list"], also: ["cache ls": ""], operands: "",
        summary: "List the files of the cache, unordered",
        discussion: """
            Prints one file per line: name, bytes, and the time of the last read in seconds since 1970. With --json one object per
            line, with all dates. Only files that pass all given filters are listed; ages are counted from the last read.
            """,
        examples: ["larder cache list --json"],
        options: CachePlace.options + CacheFilter.options + [
            Option("formats", "print each file's format, by its first bytes")
        ]
    ) { arguments in
        let place = try CachePlace(ofExisting: arguments)
        let filter = try CacheFilter(arguments)
        let needsFormat = arguments.flag("formats") || filter.needsFormat
        try await place.disk.run { [store = place.store] in
            var failure: (any Error)?
            try store.list(hidden: false) { entry in
                guard filter.passes(entry) else { return true }
                let format = needsFormat ? FileFormat.name(ofFile: entry.path, in: store) : nil
                guard filter.passes(format) else { return true }
                do {
                    let line: JSONObject = [
                        "file": entry.path, "path": store.directory + "/" + entry.path, "bytes": entry.size,
                        "allocated": entry.allocated, "accessed": entry.accessed.seconds,
                        "modified": entry.modified.seconds, "created": entry.created.seconds,
                        "changed": entry.changed.seconds, "format": format,
                    ]
                    try Console.show(
                        line, arguments,
                        "\(LogValue.oneLine(entry.path))\t\(entry.size)\t\(entry.accessed.seconds)"
                            + (format.map { "\t" + $0 } ?? ""))
                } catch {
                    failure = error
                }
                return failure == nil && Console.failure == nil
            }
            if let failure { throw failure }
        }
        return .done
    }
}

struct CacheFilter: Sendable {
    private let accessedBefore: Timestamp?
    private let accessedAfter: Timestamp?
    private let above: Int
    private let below: Int
    private let format: String?
    private let pathExtension: String?

    static let options = [
        Option("older-than", .value("DURATION"), "not read within this time"),
        Option("newer-than", .value("DURATION"), "read within this time"),
        Option("larger-than", .value("SIZE"), "larger than this"),
        Option("smaller-than", .value("SIZE"), "smaller than this"),
        Option("format", .value("FORMAT"), "by the first bytes: jpeg, png, ..., unknown, unreadable"),
        Option("extension", .value("TEXT"), "with this file extension; '' for none"),
    ]

    init(_ arguments: Arguments) throws(CommandError) {
        let now = Timestamp.now
        accessedBefore = try arguments.duration("older-than").map { now - $0 }
        accessedAfter = try arguments.duration("newer-than").map { now - $0 }
        above = try arguments.bytes("larger-than") ?? -1
        below = try arguments.bytes("smaller-than") ?? .max
        format = try arguments.value("format")
        if let format, !FileFormat.names.contains(format) {
            throw .usage("--format: '\(format)' is none of \(FileFormat.names.joined(separator: ", "))")
        }
        pathExtension = try arguments.value("extension")
    }

    /// Whether files must be opened.
    var needsFormat: Bool { format != nil }

    /// Applies every filter but the format.
    func passes(_ entry: CacheEntry) -> Bool {
        if let accessedBefore, entry.accessed > accessedBefore { return false }
        if let accessedAfter, entry.accessed < accessedAfter { return false }
        guard entry.size > above && (entry.size < below || below == .max) else { return false }
        guard let pathExtension else { return true }
        let name = entry.path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return pathExtension.isEmpty }
        return name[name.index(after: dot)...] == pathExtension && !pathExtension.isEmpty
    }

    func passes(_ found: String?) -> Bool { format == nil || format == found }
}

/// A stored file's format by its first bytes; its extension comes from the URL and may be wrong.
enum FileFormat {
    static let names = ImageFormat.allCases.map(\.name) + ["unknown", "unreadable"]

    /// `jpeg`, `png`, …, `unknown` for other contents, or `unreadable`. Blocks.
    static func name(ofFile name: String, in store: any ImageStore) -> String {
        guard let file = try? store.peek(named: name), let prefix = try? file.bytes(ImageFormat.recognisedBytes) else {
            return "unreadable"
        }
        return ImageFormat.recognise(prefix)?.name ?? "unknown"
    }
}
