import Concurrency
import DiskCache
import Glibc
import Prefetcher
package import Terminal

/// Reads the images below a directory as items with `file:` URLs.
package final class DirectoryReader {
    private static let portion = 1_000

    private let walk: Locked<DirectoryWalk>
    private let thread: ThreadPool
    private let isStopped: @Sendable () -> Bool
    private var ahead: ArraySlice<DirectoryWalk.Found> = []
    /// Whether the walk was stopped.
    package private(set) var wasStopped = false
    private var isNoted = false
    private let hasFormats: Bool
    /// Files and unreadable directories read.
    package private(set) var line = 0

    /// - Parameter formats: from `--allow-format`; nil for a command without it.
    /// - Throws: `CommandError` if the directory cannot be read.
    package init(
        _ path: String, patterns: [String], formats: [String]?, isStopped: @escaping @Sendable () -> Bool
    ) async throws(CommandError) {
        self.isStopped = isStopped
        hasFormats = formats != nil
        let thread = ThreadPool(name: "directory", threads: 1)
        self.thread = thread
        do throws(StoreError) {
            let begun = try await thread.run { () throws(StoreError) in
                try DirectoryWalk(path, patterns: patterns, formats: formats ?? [])
            }
            walk = Locked(begun)
        } catch {
            throw .usage("--from-directory: cannot open '\(path)': \(String(cString: strerror(error.number)))")
        }
    }

    /// `3 files skipped: not an accepted format (.pdf 2, .svg 1); --allow-format pdf --allow-format svg takes them`,
    /// once at the end; nil for none.
    package func takeNote() -> String? {
        guard !wasStopped, !isNoted else { return nil }
        isNoted = true
        let skipped = walk.withLock { $0.skipped }.sorted { $0.key < $1.key }
        guard !skipped.isEmpty else { return nil }
        let options =
            hasFormats
            ? Set(skipped.compactMap { ImageName.formatOnRequest($0.key) }).sorted().map { "--allow-format \($0)" }
            : skipped.map { "--glob '*.\($0.key)'" }
        return "\(skipped.reduce(0) { $0 + $1.value }.counted("file")) skipped: not an accepted format "
            + "(\(skipped.map { ".\($0.key) \($0.value)" }.joined(separator: ", "))); "
            + "\(options.joined(separator: " ")) takes them"
    }

    /// The next item, or an unreadable directory; nil at the end.
    package func next() async -> Result<ListItem, BadLine>? {
        if ahead.isEmpty {
            wasStopped = isStopped()
            guard !wasStopped else { return nil }
            let found = await thread.run { [walk] in walk.withLock { $0.next(Self.portion) } }
            ahead = found[...]
        }
        guard let found = ahead.popFirst() else { return nil }
        line += 1
        switch found {
        case .file(let path): return .success(ListItem(url: FileURL.text(path), line: line))
        case .unreadable(let path, let reason):
            return .failure(BadLine(line: line, message: "\(String(decoding: path, as: UTF8.self)): \(reason)"))
        }
    }
}
