import Concurrency
import DiskCache

extension Command {
    static let cacheList = Command(
        words: ["cache", "list"], operands: "",
        summary: "List the files of the cache, in no order",
        discussion: """
            One file a line: name, bytes, seconds since 1970 of the last read. With --json one object a line with all dates.
            Only what passes every filter that is given. Ages go by the last read.
            """,
        options: CachePlace.options + CacheFilter.options + [
            Option("formats", "tell each file's format by its first bytes")
        ]
    ) { arguments in
        struct Line: Encodable {
            let file, path: String
            let bytes, allocated, accessed, modified, created, changed: Int
            let format: String?
        }
        let place = try CachePlace(ofExisting: arguments)
        let filter = try CacheFilter(arguments)
        let tellsFormat = arguments.flag("formats") || filter.wantsFormat
        let isJSON = arguments.flag("json")
        try await place.disk.run { [layout = place.layout] in
            var failure: (any Error)?
            try layout.visit(hidden: false) { entry in
                guard !entry.isDirectory, filter.passes(entry) else { return true }
                let format = tellsFormat ? FileFormat.name(of: entry, in: layout) : nil
                guard filter.passes(format) else { return true }
                guard isJSON else {
                    Console.line(
                        "\(LogValue.oneLine(entry.path))\t\(entry.size)\t\(entry.accessed.seconds)"
                            + (format.map { "\t" + $0 } ?? ""))
                    return Console.failure == nil
                }
                do {
                    try Console.json(
                        Line(
                            file: entry.path, path: layout.namespace + "/" + entry.path, bytes: entry.size,
                            allocated: entry.allocated, accessed: entry.accessed.seconds,
                            modified: entry.modified.seconds, created: entry.created.seconds,
                            changed: entry.changed.seconds, format: format))
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

/// Which files a command is about.
struct CacheFilter: Sendable {
    private let accessedBefore: Timestamp?
    private let accessedAfter: Timestamp?
    private let above: Int
    private let below: Int
    private let format: String?
    private let pathExtension: String?

    static let options = [
        Option("older-than", .value("DURATION"), "not read for so long"),
        Option("newer-than", .value("DURATION"), "read within this time"),
        Option("larger-than", .value("SIZE"), "longer than this"),
        Option("smaller-than", .value("SIZE"), "shorter than this"),
        Option("format", .value("FORMAT"), "by its first bytes: jpeg, png, ..., unknown, unreadable"),
        Option("extension", .value("TEXT"), "with this extension of its name; '' for none"),
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

    /// Whether files have to be opened.
    var wantsFormat: Bool { format != nil }

    /// By what is known without opening it.
    func passes(_ entry: CacheEntry) -> Bool {
        if let accessedBefore, entry.accessed > accessedBefore { return false }
        if let accessedAfter, entry.accessed < accessedAfter { return false }
        guard entry.size > above && (entry.size < below || below == .max) else { return false }
        guard let pathExtension else { return true }
        let name = entry.path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return pathExtension.isEmpty }
        return name[name.index(after: dot)...] == pathExtension && !pathExtension.isEmpty
    }

    /// By its format, where that was asked for.
    func passes(_ found: String?) -> Bool { format == nil || format == found }
}
