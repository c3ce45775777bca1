import CommandLine
import Glibc
import JobQueue
import Lists
import ObjectStore
import Terminal
import Worker

/// A command's URLs, read in chunks: operands, then the `--from` lists, then the files of `--from-directory`.
struct URLSource {
    /// Maximum distinct settings per chunk, because each costs a database call.
    private static let mostSettings = 100

    private enum Place {
        case list(String)
        case directory(String)
    }

    private var operands: ArraySlice<[UInt8]>
    private var places: ArraySlice<Place>
    private let patterns: [String]
    private let format: ListFormat?
    private let table: TableOptions
    private let stop: ShutdownRequest
    private let bad: BadLines
    /// For the object store of a list; nil without lists.
    private let arguments: Arguments?
    private var reader: ListReader?
    private var directory: DirectoryReader?
    /// Items already read by `init`.
    private var ahead: ArraySlice<ListItem> = []
    /// The current list; nil for operands.
    private(set) var list: String?

    static let options =
        [
            Option(
                "from", .values("FILE"),
                "read more URLs from a list: lines, CSV, TSV, JSON lines, a sitemap, RSS, Atom or a JSON Feed, also gzip or "
                    + "zstd; - is standard input, and s3://BUCKET/KEY an object"),
            Option(
                "format", .value("FORMAT"),
                "the format of the lists: \(ListFormat.allCases.map(\.rawValue).joined(separator: ", ")); default: by the "
                    + "name, else by the beginning"),
            Option(
                "from-directory", .values("DIR"),
                "read the images below a directory, as file: URLs; no link is followed; docs/commands.md"),
            Option(
                "glob", .values("PATTERN"),
                "take files that match of --from-directory, in place of usual names of images; with / for the whole path"
            ),
        ] + TableOptions.options

    /// Reads the first chunk, so that an unreadable list is an error before a batch is opened for it.
    ///
    /// - Parameter count: leading operands that are not URLs.
    /// - Throws: wrong usage without operands and `--from`; a `CommandError` if a file cannot be read.
    init(
        _ arguments: Arguments, command: String, skipping count: Int = 0, bad: BadLines, until stop: ShutdownRequest
    ) async throws(CommandError) {
        let lists = try arguments.list("from")
        let directories = try arguments.list("from-directory")
        guard !lists.isEmpty || !directories.isEmpty || !arguments.operandBytes.isEmpty else {
            throw .usage("\(command): URLs, --from or --from-directory are required")
        }
        patterns = try arguments.list("glob")
        guard patterns.isEmpty || !directories.isEmpty else {
            throw .usage("\(arguments.label("glob")): only the files of --from-directory have names to match")
        }
        for pattern in patterns {
            let parts = pattern.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.allSatisfy({ !$0.isEmpty && !$0.hasPrefix(".") }) else {
                throw .usage(
                    "\(arguments.label("glob")): '\(pattern)' can match nothing: a pattern is of names or of paths below "
                        + "the directory, and hidden ones are left out")
            }
        }
        let urls = arguments.operandBytes.dropFirst(count)
        // Among other operands an empty URL is a failed item, as in a list.
        guard !lists.isEmpty || !directories.isEmpty || urls.isEmpty || urls.contains(where: { !$0.isEmpty }) else {
            throw .usage("\(command): the URL is empty")
        }
        guard !urls.contains(Array("-".utf8)) else {
            throw .usage("\(command): '-' is not a URL; '--from -' reads standard input")
        }
        for url in urls { try LocalPath.refuse(url, command) }
        guard lists.count(where: { $0 == "-" }) <= 1 else { throw .usage("\(command): --from - can be given once") }
        for path in lists where path != "-" && !BucketAddress.isBucket(path) {
            guard access(path, R_OK) == 0 else { throw .file("read", path) }
            guard !LocalPath.isDirectory(path) else {
                throw .larder(
                    .file, "cannot read \(path): Is a directory; --from-directory takes the images below it")
            }
        }
        let format = try arguments.choice("format", of: ListFormat.allCases.map(\.rawValue))
        self.format = format.flatMap(ListFormat.init(rawValue:))
        table = try TableOptions(arguments, self.format)
        self.bad = bad
        self.arguments = arguments
        self.stop = stop
        operands = urls
        places = (lists.map(Place.list) + directories.map(Place.directory))[...]
        try await openNext()
        ahead = try await next(EnqueueRequest.maxURLs)[...]
        while ahead.isEmpty, directory != nil, !wasStopped, try await advance() {
            ahead = try await next(EnqueueRequest.maxURLs)[...]
        }
        guard !ahead.isEmpty || directory == nil || wasStopped else {
            throw .usage("\(command): no images in \(directories.joined(separator: ", "))")
        }
    }

    init() {
        operands = []
        places = []
        patterns = []
        format = .lines
        table = .none
        stop = ShutdownRequest()
        bad = BadLines(json: false)
        arguments = nil
    }

    /// The lines of a file written by this command.
    init(readingAll file: borrowing OutputFile) throws(CommandError) {
        self.init()
        // A new description starts at the beginning of the file.
        reader = try ListReader("/proc/self/fd/\(file.descriptor)", format: .lines) { false }
    }

    /// Whether a signal ended the current list.
    var wasStopped: Bool { reader?.wasStopped ?? directory?.wasStopped ?? false }

    /// The last read line's number.
    var line: Int { reader?.line ?? directory?.line ?? 0 }

    /// Moves to the next list; false if there is none.
    mutating func advance() async throws(CommandError) -> Bool {
        guard !places.isEmpty else { return false }
        try await openNext()
        return true
    }

    private mutating func openNext() async throws(CommandError) {
        guard let place = places.popFirst() else { return }
        let stop = stop
        (reader, directory) = (nil, nil)
        guard case .list(let path) = place else {
            guard case .directory(let path) = place else { return }
            directory = try await DirectoryReader(
                path, patterns: patterns,
                formats: arguments?.has("allow-format") == true ? try arguments?.list("allow-format") : nil
            ) { stop.urgency != .none }
            list = path
            return
        }
        if let arguments, BucketAddress.isBucket(path) {
            // Downloaded completely, so that a slow consumer holds no connection.
            let file = try await ObjectStoreOptions.download(path, of: "from", arguments)
            reader = try ListReader("/proc/self/fd/\(file.descriptor)", named: path, format: format, options: table) {
                stop.urgency != .none
            }
        } else {
            reader = try ListReader(path, format: format, options: table) { stop.urgency != .none }
        }
        list = path
    }

    /// Up to `count` items of the current list, fewer if their settings vary; empty at the end. Invalid UTF-8 is
    /// repaired; the queue then answers `invalid`.
    mutating func next(_ count: Int) async throws(CommandError) -> [ListItem] {
        var chunk = Array(ahead.prefix(count))
        ahead = ahead.dropFirst(count)
        guard ahead.isEmpty else { return chunk }
        var settings: [EnqueueRequest.Settings] = []
        while chunk.count < count {
            if let operand = operands.popFirst() {
                chunk.append(ListItem(url: String(decoding: operand, as: UTF8.self)))
                continue
            }
            let read = if let reader { try await reader.next() } else { await directory?.next() }
            for note in reader?.takeNotes() ?? [] {
                Console.note("larder: \(list == "-" ? "standard input" : list ?? ""): \(note)")
            }
            guard let result = read else {
                if let note = directory?.takeNote() { Console.note("larder: \(list ?? ""): \(note)") }
                break
            }
            switch result {
            case .success(var item):
                item.list = list
                chunk.append(item)
                if item.settings != settings.last, item.settings != EnqueueRequest.Settings() {
                    if !settings.contains(item.settings) { settings.append(item.settings) }
                    if settings.count >= Self.mostSettings { return chunk }
                }
            case .failure(let line):
                do { try bad.add(line, of: list ?? "") } catch { throw CommandError(error) }
            }
        }
        return chunk
    }
}
