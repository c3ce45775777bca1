import DiskCache
import Executors

/// Which cache a command works on.
struct CachePlace {
    let layout: CacheLayout
    /// Where looking at files blocks.
    let disk = BlockingPool(name: "cache", threads: 1)

    static let options = [
        Settings.cacheOption,
        Option("namespace", .value("NAME"), "the directory in the cache root, default 'default'"),
    ]

    init(_ arguments: Arguments) throws {
        layout = try CacheLayout(
            root: Settings(arguments).cacheRoot, namespace: try arguments.value("namespace") ?? "default")
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
