import Glibc

/// The hidden name of a temporary file. It tells which process writes it, so that others can sweep it once that is dead:
/// `.larder.<boot>.<process namespace>.<process>.<start time>.<random>`. OpenMarker files are called so, too, beginning
/// with `.larder-open.`, and bundles being made, beginning with `.larder-bundle.`
///
/// Boot and namespace come first because a process number means nothing on another host that shares the directory,
/// nor in another container on this one.
struct TemporaryName: Equatable {
    /// A running or dead process, unmistakably: numbers are reused, number and start time together are not.
    struct Writer: Equatable {
        let boot: String
        let namespace: String
        let process: Int32
        let startTime: UInt64
    }

    /// What the name is for, by its first word.
    enum Kind: String {
        case temporary = "larder"
        case presence = "larder-open"
        /// A directory: a bundle being made.
        case bundle = "larder-bundle"
    }

    let kind: Kind
    let writer: Writer
    private let random: UInt64

    /// How long another host's file is left alone; no transfer takes that long.
    static let foreignLifetime = 24 * 60 * 60

    /// A new name.
    static func ofThisProcess(_ kind: Kind = .temporary) -> TemporaryName {
        TemporaryName(kind: kind, writer: .this, random: .random(in: 0...UInt64.max))
    }

    private init(kind: Kind, writer: Writer, random: UInt64) {
        self.kind = kind
        self.writer = writer
        self.random = random
    }

    /// Nil when `text` is no such name.
    init?(_ text: String) {
        let fields = text.split(separator: ".", omittingEmptySubsequences: false)
        guard fields.count == 7, fields[0].isEmpty, let kind = Kind(rawValue: String(fields[1])),
            let process = Int32(fields[4]), process > 0,
            let startTime = UInt64(fields[5]), let random = UInt64(fields[6], radix: 16)
        else { return nil }
        self.kind = kind
        writer = Writer(
            boot: String(fields[2]), namespace: String(fields[3]), process: process, startTime: startTime)
        self.random = random
    }

    var text: String {
        ".\(kind.rawValue).\(writer.boot).\(writer.namespace).\(writer.process).\(writer.startTime)."
            + String(random, radix: 16)
    }

    /// Whether the writer is dead for certain; where that is not to be seen from here, whether `age` (in seconds) says so.
    func isAbandoned(age: Int) -> Bool {
        let here = Writer.this
        if writer.boot == here.boot, writer.namespace == here.namespace, !here.boot.isEmpty, !here.namespace.isEmpty {
            if kill(writer.process, 0) != 0 && errno == ESRCH { return true }
            if let found = Writer.look(at: writer.process) { return !found.runs || found.startTime != writer.startTime }
        }
        return age > TemporaryName.foreignLifetime
    }
}

extension TemporaryName.Writer {
    /// This process.
    static let this: TemporaryName.Writer = {
        let process = getpid()
        return TemporaryName.Writer(
            boot: readSmallFile("/proc/sys/kernel/random/boot_id").filter { $0.isHexDigit || $0 == "-" },
            namespace: processNamespace(), process: process, startTime: look(at: process)?.startTime ?? 0)
    }()

    /// Whether `process` runs, and when it started, in clock ticks since boot. Nil when the kernel does not tell.
    static func look(at process: Int32) -> (runs: Bool, startTime: UInt64)? {
        // The name in parentheses may itself hold spaces and parentheses; what follows the last one is regular.
        let fields = readSmallFile("/proc/\(process)/stat").split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 19, let startTime = UInt64(fields[19]) else { return nil }
        // A zombie keeps its number until its parent asks for it, which in a container may be never.
        return (!["Z", "X"].contains(fields[0]), startTime)
    }

    private static func processNamespace() -> String {
        var target = [CChar](repeating: 0, count: 64)
        let length = readlink("/proc/self/ns/pid", &target, target.count)
        return String(decoding: target.prefix(max(length, 0)).map(UInt8.init(bitPattern:)), as: UTF8.self)
            .filter(\.isNumber)
    }
}

/// The beginning of a file of the kernel's; empty when it cannot be read.
private func readSmallFile(_ path: String) -> String {
    guard let file = try? Descriptor(opening: path, O_RDONLY) else { return "" }
    var bytes = [UInt8](repeating: 0, count: 1024)
    let length = read(file.number, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(length, 0)), as: UTF8.self)
}
