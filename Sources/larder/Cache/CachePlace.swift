import Concurrency
import DiskCache
import Glibc

/// The cache that a command works on.
struct CachePlace {
    let layout: CacheLayout
    let store: any ImageStore
    /// Runs file operations, which block.
    let disk = ThreadPool(name: "cache", threads: 1)

    static let options = [
        Settings.cacheOption,
        Option("namespace", .value("NAME"), "the directory in the cache root, default 'default'"),
    ]

    init(_ arguments: Arguments) throws {
        layout = try CacheLayout(
            root: Settings(arguments).cacheRoot, namespace: try arguments.value("namespace") ?? "default")
        store = DirectoryStore(layout)
    }

    /// Nil when there is no cache. Creates nothing.
    init?(ifPresent arguments: Arguments) throws {
        guard try Settings.existingCache(Settings(arguments).cacheRoot) != nil else { return nil }
        try self.init(arguments)
    }

    /// - Throws: a `CommandError` when the cache does not exist.
    init(ofExisting arguments: Arguments) throws {
        try self.init(arguments)
        var status = stat()
        guard stat(layout.directory, &status) != 0, errno == ENOENT else { return }
        throw CommandError.larder(.file, "there is no cache at \(layout.directory)")
    }

    /// The place of a command that deletes files.
    ///
    /// - Throws: a `CommandError` when the cache does not exist, or when the root has no cache id, which Larder writes
    ///   when it first stores to it.
    init(ofOwn arguments: Arguments) throws {
        try self.init(ofExisting: arguments)
        guard access(layout.root + "/" + CacheID.fileName, F_OK) != 0 else { return }
        throw CommandError.larder(
            .file, "\(layout.root) is not a cache of Larder: it has no \(CacheID.fileName); nothing was deleted")
    }

    /// The path of the manifest in the cache root; nil when there is none.
    var manifest: String? {
        let path = layout.root + "/" + BundleLayout.manifest
        return access(path, F_OK) == 0 ? path : nil
    }

    /// The number of files for a progress bar. Counting takes a tenth of the time of a full listing, so it is done only
    /// when standard error is a terminal, or `isSlow` is set by a command that takes long for each file.
    func total(isSlow: Bool = false) async -> Int? {
        guard isSlow || Console.isTerminal(STDERR_FILENO) else { return nil }
        return await disk.run { [store] in try? store.count() }
    }
}
