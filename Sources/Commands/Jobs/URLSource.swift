import CommandLine
import Glibc
import JobQueue
import ObjectStore
import Terminal
import Worker

/// The URLs of a command, read in chunks: the operands, then the lists of `--from`, one after the other.
struct URLSource {
    /// The most distinct settings in a chunk, because each costs a call of the database.
    private static let mostSettings = 100

    private var operands: ArraySlice<[UInt8]>
    private var paths: ArraySlice<String>
    private let format: ListFormat?
    private let stop: ShutdownRequest
    private let bad: BadLines
    /// The options that name an object store; nil without lists.
    private let arguments: Arguments?
    private var reader: ListReader?
    /// What `init` has read.
    private var ahead: ArraySlice<ListItem> = []
    /// The list that is read; nil for operands alone.
    private(set) var list: String?

    static let options = [
        Option(
            "from", .values("FILE"),
            "read more URLs from a list: lines, CSV, TSV or JSON lines, also gzip or zstd; - is standard input, and "
                + "s3://BUCKET/KEY an object"),
        Option(
            "format", .value("FORMAT"),
            "the format of the lists: lines, csv, tsv or jsonl; default: by the name, else by the first line"),
    ]

    /// Reads the first chunk, so that an unreadable list is an error before a batch is opened for it.
    ///
    /// - Parameter count: operands that are no URLs.
    /// - Throws: wrong usage without operands and `--from`; a `CommandError` when a file cannot be read.
    init(
        _ arguments: Arguments, command: String, skipping count: Int = 0, bad: BadLines, until stop: ShutdownRequest
    ) async throws(CommandError) {
        let lists = try arguments.list("from")
        guard !lists.isEmpty || !arguments.operandBytes.isEmpty else {
            throw .usage("\(command): URLs or --from are required")
        }
        let urls = arguments.operandBytes.dropFirst(count)
        // Among others an empty URL is a failed item, as in a list.
        guard !lists.isEmpty || urls.isEmpty || urls.contains(where: { !$0.isEmpty }) else {
            throw .usage("\(command): the URL is empty")
        }
        guard !urls.contains(Array("-".utf8)) else {
            throw .usage("\(command): '-' is not a URL; '--from -' reads standard input")
        }
        guard lists.count(where: { $0 == "-" }) <= 1 else { throw .usage("\(command): --from - can be given once") }
        for path in lists where path != "-" && !BucketAddress.isBucket(path) {
            guard access(path, R_OK) == 0 else { throw .file("read", path) }
        }
        let format = try arguments.choice("format", of: ListFormat.allCases.map(\.rawValue))
        self.format = format.flatMap(ListFormat.init(rawValue:))
        self.bad = bad
        self.arguments = arguments
        self.stop = stop
        operands = urls
        paths = lists[...]
        try await openNext()
        ahead = try await next(EnqueueRequest.maxURLs)[...]
    }

    init() {
        operands = []
        paths = []
        format = .lines
        stop = ShutdownRequest()
        bad = BadLines(json: false)
        arguments = nil
    }

    /// The lines of a file that this command has written.
    init(readingAll file: borrowing OutputFile) throws(CommandError) {
        self.init()
        // A new description starts at the beginning of the file.
        reader = try ListReader("/proc/self/fd/\(file.descriptor)", format: .lines) { false }
    }

    /// Whether a signal ended the current list.
    var wasStopped: Bool { reader?.wasStopped == true }

    /// The number of the line that was read last.
    var line: Int { reader?.line ?? 0 }

    /// Goes on to the next list; false when there is none.
    mutating func advance() async throws(CommandError) -> Bool {
        guard !paths.isEmpty else { return false }
        try await openNext()
        return true
    }

    private mutating func openNext() async throws(CommandError) {
        guard let path = paths.popFirst() else { return }
        let stop = stop
        if let arguments, BucketAddress.isBucket(path) {
            // Whole, so that a slow consumer holds no connection.
            let file = try await ObjectStoreOptions.download(path, of: "from", arguments)
            reader = try ListReader("/proc/self/fd/\(file.descriptor)", named: path, format: format) {
                stop.urgency != .none
            }
        } else {
            reader = try ListReader(path, format: format) { stop.urgency != .none }
        }
        list = path
    }

    /// Up to `count` items of the current list, fewer when their settings differ much; empty at the end. Invalid UTF-8
    /// is repaired; the queue then answers `invalid`.
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
            let read = try await reader?.next()
            for note in reader?.takeNotes() ?? [] {
                Console.note("larder: \(list == "-" ? "standard input" : list ?? ""): \(note)")
            }
            guard let result = read else { break }
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
