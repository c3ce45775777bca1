private import CLinux
internal import Concurrency
private import Glibc

/// The program of a pool's children.
///
/// Its file stays open: if a package replaces it while the pool runs, all children still have the same version.
final class TranscoderProgram: Sendable {
    struct File: Sendable, Equatable {
        /// The path as searched.
        let path: String
        let descriptor: Int32
    }

    private static let name = "larder-transcoder"
    private static let variable = "LARDER_TRANSCODER"

    private let paths: [String]
    private let opened = Locked<File?>(nil)

    /// Opens the program; if it is missing, each later child tries again.
    ///
    /// - Parameter path: nil searches `paths(of:variable:)`.
    init(_ path: String?) {
        paths =
            path.map { [$0] }
            ?? Self.paths(of: Self.runningProgram, variable: getenv(Self.variable).map { String(cString: $0) })
        _ = try? file()
    }

    deinit { if let file = opened.withLock({ $0 }) { close(file.descriptor) } }

    /// The searched paths: from the environment if set, else the running program's directory, then `lib/larder` of its
    /// prefix.
    static func paths(of program: String, variable: String?) -> [String] {
        if let variable, !variable.isEmpty { return [variable] }
        let directory = parent(of: program), prefix = parent(of: directory)
        return [directory, "\(prefix)/lib/larder"].map { "\($0)/\(name)" }
    }

    /// The open program.
    ///
    /// - Throws: `TranscodeError` 501 if it is missing or cannot be opened.
    func file() throws(TranscodeError) -> File {
        // The first caller opens it for all.
        let (file, failure) = opened.withLock { opened -> (File?, Int32) in
            if let opened { return (opened, 0) }
            var failure = ENOENT
            for path in paths {
                let descriptor = larder_open_program(path)
                if descriptor >= 0 {
                    opened = File(path: path, descriptor: descriptor)
                    break
                }
                if errno != ENOENT { failure = errno }
            }
            return (opened, failure)
        }
        if let file { return file }
        if paths.count == 1 { throw TranscodeError.noProgram("\(paths[0]) cannot be started", failure) }
        throw TranscodeError.noProgram(
            "\(Self.name) is missing: not in \(paths.joined(separator: ", ")); \(Self.variable) can name it", failure)
    }

    /// Without the kernel's suffix for a replaced file; only the directory matters.
    private static var runningProgram: String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func parent(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}

extension TranscodeError {
    /// The machine lacks the program that every image needs.
    fileprivate static func noProgram(_ what: String, _ number: Int32) -> TranscodeError {
        TranscodeError(.localFault, "\(what) (errno \(number))", countsTowardPoison: false)
    }
}
