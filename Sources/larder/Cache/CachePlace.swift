import Concurrency
import DiskCache
import Glibc

/// Which cache a command works on.
struct CachePlace {
    let layout: CacheLayout
    /// Where looking at files blocks.
    let disk = ThreadPool(name: "cache", threads: 1)

    static let options = [
        Settings.cacheOption,
        Option("namespace", .value("NAME"), "the directory in the cache root, default 'default'"),
    ]

    init(_ arguments: Arguments) throws {
        layout = try CacheLayout(
            root: Settings(arguments).cacheRoot, namespace: try arguments.value("namespace") ?? "default")
    }

    /// The same, of a cache that must be there.
    ///
    /// - Throws: a `CommandError` that says where there is none.
    init(ofExisting arguments: Arguments) throws {
        try self.init(arguments)
        var status = stat()
        guard stat(layout.directory, &status) != 0, errno == ENOENT else { return }
        throw CommandError.larder(2, "there is no cache at \(layout.directory)")
    }

    /// How many files there are about, for a bar: names only, which takes a tenth of a walk. Nil where nobody sees a bar.
    ///
    /// - Parameter isSlow: what is done with each file takes so long that the total is worth it anyway.
    func total(isSlow: Bool = false) async -> Int? {
        guard isSlow || Console.isTerminal(STDERR_FILENO) else { return nil }
        return await disk.run { [layout] in try? layout.countNames() }
    }

    /// Walks over the files without a hidden name, a line of progress meanwhile.
    ///
    /// - Parameter verb: what is done with them: `files seen`.
    func walk(_ verb: String, _ body: @escaping @Sendable (CacheEntry) throws -> Void) async throws {
        try await disk.run { [layout] in
            var progress = WalkProgress(verb)
            var failure: (any Error)?
            try layout.visit(hidden: false) { entry in
                guard !entry.isDirectory else { return true }
                do {
                    try body(entry)
                } catch {
                    failure = error
                    return false
                }
                progress.count()
                return true
            }
            progress.end()
            if let failure { throw failure }
        }
    }
}
