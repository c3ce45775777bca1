import Foundation

/// A program or a library that the system's C compiler makes of a text. Its file is deleted with the last reference;
/// processes that have loaded it are not affected.
public final class CompiledC: Sendable {
    struct Failure: Error { let output: String }

    private let directory: TemporaryDirectory

    /// Its path, which every user may read.
    public var path: String { directory.file("compiled") }

    /// Compiles `source`.
    public init(_ source: String, options: [String] = []) async throws {
        directory = try TemporaryDirectory(open: true)
        let compiler = try RunningCommand(
            "cc", options + ["-x", "c", "-", "-o", directory.file("compiled")],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"], input: Array(source.utf8))
        let outcome = await compiler.outcome()
        guard outcome.code == 0 else { throw Failure(output: String(decoding: outcome.errors, as: UTF8.self)) }
    }

    /// Compiles `source` into a library that is loaded before all others.
    public static func preloaded(_ source: String) async throws -> CompiledC {
        try await CompiledC(source, options: ["-shared", "-fPIC"])
    }

    /// The line of a process's environment that loads this library.
    public var environment: String { "LD_PRELOAD=\(path)" }
}
