import Glibc

/// A hidden name that identifies its process, so that others can delete the file once that is dead: `.larder.<boot
/// id>.<pid namespace>.<pid>.<start time>.<random>`.
///
/// Boot id and pid namespace come first, since a pid means nothing on another host or in another container.
struct TemporaryName: Equatable {
    /// The name's purpose: its first word.
    enum Kind: String {
        case temporaryFile = "larder"
        case openMarker = "larder-open"
        /// A bundle directory being written.
        case bundle = "larder-bundle"
    }

    /// A process. Pids are reused, but pid plus start time is unique.
    struct Writer: Equatable {
        let boot: String
        let namespace: String
        let process: Int32
        /// In clock ticks since boot.
        let startTime: UInt64
    }

    let kind: Kind
    let writer: Writer
    private let random: UInt64

    /// Age in seconds at which another host's file is abandoned; no transfer takes that long.
    static let foreignLifetime = 24 * 60 * 60

    static func ofThisProcess(_ kind: Kind = .temporaryFile) -> TemporaryName {
        TemporaryName(kind: kind, writer: .this, random: .random(in: 0...UInt64.max))
    }

    private init(kind: Kind, writer: Writer, random: UInt64) {
        self.kind = kind
        self.writer = writer
        self.random = random
    }

    /// Nil if `text` is no such name.
    init?(_ text: String) {
        let fields = text.split(separator: ".", omittingEmptySubsequences: false)
        guard fields.count == 7, fields[0].isEmpty, let kind = Kind(rawValue: String(fields[1])),
            let process = Int32(fields[4]), process > 0,
            let startTime = UInt64(fields[5]), let random = UInt64(fields[6], radix: 16)
        else { return nil }
        let writer = Writer(
            boot: String(fields[2]), namespace: String(fields[3]), process: process, startTime: startTime)
        self.init(kind: kind, writer: writer, random: random)
    }

    var text: String {
        ".\(kind.rawValue).\(writer.boot).\(writer.namespace).\(writer.process).\(writer.startTime)."
            + String(random, radix: 16)
    }

    /// Whether the process is dead; for another host or container judged by `age`, in seconds.
    func isAbandoned(age: Int) -> Bool {
        let here = Writer.this
        if writer.boot == here.boot, writer.namespace == here.namespace, !here.boot.isEmpty, !here.namespace.isEmpty {
            if kill(writer.process, 0) != 0 && errno == ESRCH { return true }
            if let found = Writer.find(writer.process) { return !found.runs || found.startTime != writer.startTime }
        }
        return age > TemporaryName.foreignLifetime
    }
}

extension TemporaryName.Writer {
    static let this: TemporaryName.Writer = {
        let process = getpid()
        return TemporaryName.Writer(
            boot: readSmallFile("/proc/sys/kernel/random/boot_id").filter { $0.isHexDigit || $0 == "-" },
            namespace: processNamespace(), process: process, startTime: find(process)?.startTime ?? 0)
    }()

    /// Whether `process` runs, and its start time; nil if /proc does not have it.
    static func find(_ process: Int32) -> (runs: Bool, startTime: UInt64)? {
        // The command in parentheses may contain spaces and parentheses: split after the last one.
        let fields = readSmallFile("/proc/\(process)/stat").split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 19, let startTime = UInt64(fields[19]) else { return nil }
        // A zombie is dead but keeps its pid until its parent waits for it.
        return (!["Z", "X"].contains(fields[0]), startTime)
    }

    private static func processNamespace() -> String {
        var target = [CChar](repeating: 0, count: 64)
        let length = readlink("/proc/self/ns/pid", &target, target.count)
        return String(decoding: target.prefix(max(length, 0)).map(UInt8.init(bitPattern:)), as: UTF8.self)
            .filter(\.isNumber)
    }
}

/// Up to 1024 bytes of a file in /proc; empty if unreadable.
private func readSmallFile(_ path: String) -> String {
    let file = try? Descriptor(opening: path, O_RDONLY)
    return String(decoding: (try? file?.read(1024, at: 0, from: path)) ?? [], as: UTF8.self)
}

extension TemporaryName {
    struct File {
        let path: String
        let isAbandoned: Bool
        let status: stat
    }

    /// Files with names of `kind` in `directory` itself; none if there is no such directory.
    static func files(_ kind: Kind, in directory: String) throws(StoreError) -> [File] {
        guard var names = try DirectoryStream(ifPresent: directory, following: true) else { return [] }
        var files: [File] = []
        while let name = try names.next({ String(cString: $0) }) {
            guard let parsed = TemporaryName(name), parsed.kind == kind else { continue }
            var status = stat()
            let path = directory + "/" + name
            // Another process may have renamed or deleted it.
            guard lstat(path, &status) == 0 else { continue }
            let age = time(nil) - status.st_mtim.tv_sec
            files.append(File(path: path, isAbandoned: parsed.isAbandoned(age: age), status: status))
        }
        return files
    }
}
