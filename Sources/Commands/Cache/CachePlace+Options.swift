import CommandLine
import Concurrency
import DiskCache
import Glibc
import ObjectStore
import Reports
import Terminal

extension CachePlace {
    static let options =
        [
            Settings.cacheOption,
            Option("namespace", .value("NAME"), "the directory in the cache root, default 'default'"),
        ] + NamingOption.options + ObjectStoreOptions.options

    init(_ arguments: Arguments) throws {
        try self.init(arguments, root: Settings(arguments).cacheRoot)
    }

    /// The cache in `root`, a directory or bucket URL.
    ///
    /// - Parameters:
    ///   - isFilled: whether many files will be looked up before they are stored.
    ///   - naming: nil, the default, is the value of `--naming`.
    init(
        _ arguments: Arguments, root: String, isFilled: Bool = false, naming: (any CacheNaming)? = nil
    ) throws {
        let namespace = try arguments.value("namespace") ?? "default"
        let naming = try naming ?? NamingOption.naming(arguments)
        if BucketAddress.isBucket(root) {
            self.init(
                try ObjectStoreOptions.store(
                    root, arguments, home: Settings(arguments).home, namespace: namespace, naming: naming,
                    usesLocal: false, holdsNames: isFilled))
        } else {
            let layout = try CacheLayout(root: root, namespace: namespace, naming: naming)
            self.init(DirectoryStore(layout), paths: layout)
        }
    }

    /// The store in `root`; a missing directory is created with a cache id.
    static func created(_ arguments: Arguments, root: String) async throws -> any ImageStore {
        let place = try CachePlace(arguments, root: root, isFilled: true)
        return try await place.disk.run { [paths = place.paths, store = place.store] () throws(StoreError) in
            var created = store
            if let paths {
                created = try DirectoryStore(opening: paths.root, namespace: paths.namespace, naming: paths.naming)
            }
            _ = try created.cacheID
            return created
        }
    }

    /// The cache to export in the naming of `--naming`: one with this naming, else SDWebImage's.
    init(toExport arguments: Arguments) throws {
        let place = try CachePlace(arguments)
        guard let paths = place.paths, access(paths.directory, F_OK) != 0 else {
            self = place
            return
        }
        try self.init(arguments, root: paths.root, naming: NamingOption.sdWebImage(arguments))
    }

    /// Nil if there is no cache. Creates nothing.
    init?(ifPresent arguments: Arguments) throws {
        let root = try Settings(arguments).cacheRoot
        let naming = try NamingOption.naming(arguments)
        guard try BucketAddress.isBucket(root) || Settings.existingCache(root, naming) != nil else { return nil }
        try self.init(arguments)
    }

    /// - Throws: a `CommandError` if the cache does not exist.
    init(ofExisting arguments: Arguments) throws {
        try self.init(arguments)
        var status = stat()
        guard let paths, stat(paths.directory, &status) != 0, errno == ENOENT else { return }
        throw CommandError.larder(.file, "there is no cache at \(paths.directory)")
    }

    /// The cache of a command that deletes files.
    ///
    /// - Throws: a `CommandError` if the cache does not exist, if the root lacks a cache id (written by Larder's first
    ///   store), or if the directory of the images is a symbolic link, which may lead to another cache; `StoreError`
    ///   for an id that Larder has not written, or a link to one.
    init(ofOwn arguments: Arguments) async throws {
        try self.init(ofExisting: arguments)
        var status = stat()
        if let paths, lstat(paths.directory, &status) == 0, status.st_mode & S_IFMT == S_IFLNK {
            throw CommandError.larder(
                .file, "\(paths.directory) is a symbolic link, and may lead to another cache; nothing was deleted")
        }
        guard try await !hasID() else { return }
        throw CommandError.larder(
            .file, "\(root) is not a cache of Larder: it has no \(CacheID.fileName); nothing was deleted")
    }

    /// The id of the cache in `root`; nil if there is none. Creates nothing.
    static func id(_ arguments: Arguments, of root: String) async throws -> String? {
        guard BucketAddress.isBucket(root) else {
            return try Settings.existingCache(root, NamingOption.naming(arguments))?.cacheID
        }
        let place = try CachePlace(arguments, root: root)
        return try await place.disk.run { [store = place.store] in try (store as? S3Store)?.existingID() }
    }

    private func hasID() async throws -> Bool {
        try await disk.run { [paths, store] () throws(StoreError) in
            if let paths { return try CacheID.existing(in: paths.root) }
            return try (store as? S3Store)?.existingID()
        } != nil
    }

    private var root: String { paths?.root ?? String(title.dropLast(store.directory.count + 1)) }

    /// The images' directory or URL, for messages.
    var title: String { paths?.directory ?? String(location(of: "").dropLast()) }

    /// A file's path or URL.
    func location(of name: String) -> String {
        paths.map { $0.directory + "/" + name } ?? (store as? S3Store)?.url(of: name) ?? name
    }

    /// A directory cache's paths.
    ///
    /// - Throws: wrong usage for a bucket.
    func layout(of command: String) throws(CommandError) -> CacheLayout {
        guard let paths else { throw .usage("\(command): --cache must be a directory") }
        return paths
    }

    /// The manifest in the cache root; nil if there is none.
    var manifest: String? {
        guard let paths else { return nil }
        let path = paths.root + "/" + BundleLayout.manifest
        return access(path, F_OK) == 0 ? path : nil
    }

    /// The number of files, for a progress bar. Counting takes a tenth of a full listing, so it needs a terminal on
    /// standard error, or `isSlow` from a command that takes long per file.
    func total(isSlow: Bool = false) async -> Int? {
        guard isSlow || Console.isTerminal(STDERR_FILENO) else { return nil }
        return await disk.run { [store] in try? store.count() }
    }
}

/// `--naming` and `--url-rules`: the library and system whose names and keys the cache has.
enum NamingOption {
    static let options = [
        Option(
            "naming", .value("NAMING"),
            "the image library whose names and keys the cache has: sdwebimage (default), "
                + "kingfisher or nuke; or template:PATH; docs/storage.md"),
        Option(
            "url-rules", .value("RULES"),
            "the system whose rules make SDWebImage's keys: ios17 (default; iOS 17 to 26) or ios27; docs/sdwebimage.md"),
    ]

    static func naming(_ arguments: Arguments) throws(CommandError) -> any CacheNaming {
        let sdWebImage = try sdWebImage(arguments)
        if let text = try arguments.value("naming"), text.hasPrefix(TemplateNaming.prefix) {
            return TemplateNaming(try template(String(text.dropFirst(TemplateNaming.prefix.count))))
        }
        return try arguments.choice("naming", of: CacheNamings.all.map(\.name) + [TemplateNaming.prefix + "PATH"])
            .flatMap { $0 == sdWebImage.name ? sdWebImage : CacheNamings.named($0) } ?? sdWebImage
    }

    private static func template(_ text: String) throws(CommandError) -> PathTemplate {
        do throws(PathTemplateError) {
            return try PathTemplate(text)
        } catch {
            var question = ""
            if case .unknown(let word) = error {
                let near = NearestWord.to(word, among: PathTemplate.placeholders)
                question = near.map { "; did you mean '{\($0)}'?" } ?? ""
            }
            throw .usage("--naming: \(error)\(question)")
        }
    }

    /// SDWebImage's naming, regardless of `--naming`.
    static func sdWebImage(_ arguments: Arguments) throws(CommandError) -> SDWebImageNaming {
        SDWebImageNaming(urlRules: try urlRules(arguments))
    }

    static func urlRules(_ arguments: Arguments) throws(CommandError) -> URLRules {
        try arguments.choice("url-rules", of: URLRules.allCases.map(\.rawValue)).flatMap(URLRules.init) ?? .ios17
    }
}
