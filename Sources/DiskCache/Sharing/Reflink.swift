private import CLinux
import Glibc

/// Lets files of a cache that hold the same bytes share them on the disk, where the file system can (XFS, btrfs).
///
/// No file is replaced: the kernel compares the bytes of two files and lets one take the other's room. Names, dates,
/// attributes and inodes stay, so expiry sees the same cache as before; a file that is rewritten or deleted takes nothing
/// from the others. Hard links would share the dates that expiry goes by, and the attributes. Larder stores the same bytes
/// several times where several URLs, or variants that changed nothing, give the same picture.
public struct Reflink: Sendable {
    private let layout: CacheLayout
    private let isDryRun: Bool

    /// Smaller files lie within one block, of which nothing can be shared, or in the directory itself.
    static let smallestSize = 4096

    /// - Parameters:
    ///   - layout: the cache.
    ///   - isDryRun: tells which files hold the same bytes, and shares none.
    public init(_ layout: CacheLayout, isDryRun: Bool = false) {
        self.layout = layout
        self.isDryRun = isDryRun
    }

    /// Shares. Blocks, and reads every file whose length is not its alone; that counts as no access.
    ///
    /// Stopped at any point it has harmed nothing; the next run begins anew and shares once more what is shared already.
    ///
    /// - Parameters:
    ///   - shared: told of every file that now shares, or in a dry run could share, the bytes of an earlier one.
    ///   - progress: told after each file.
    /// - Returns: what was done.
    /// - Throws: `StoreError`, `unsupported` where the file system cannot share, `missing` when there is no such cache.
    ///   What fails with one file alone stands in the report.
    public func run(
        shared: (_ file: String, _ first: String) -> Void = { _, _ in }, progress: (ReflinkReport) -> Void = { _ in }
    ) throws(StoreError) -> ReflinkReport {
        var report = ReflinkReport()
        var equal = EqualFiles()
        try visit { (entry) throws(StoreError) in equal.meet(length: entry.size) }
        try visit { (entry) throws(StoreError) in
            report.seen += 1
            defer { progress(report) }
            guard equal.mayHaveTwin(length: entry.size) else { return }
            do throws(StoreError) {
                guard let file = try layout.peek(entry.path) else { return }
                let digest = try file.sha256()
                report.read += 1
                guard let name = equal.twin(of: entry.path, sha256: digest) else { return }
                guard let first = try layout.peek(name) else {
                    equal.replaceFirst(by: entry.path, sha256: digest)
                    return
                }
                guard let bytes = try share(first, file) else { return }
                report.shared += 1
                report.sharedBytes += bytes
                shared(entry.path, name)
            } catch {
                if error.code == .unsupported { throw error }
                report.failed += 1
                report.firstFailure = report.firstFailure ?? error
            }
        }
        return report
    }

    private func visit(_ body: (CacheEntry) throws(StoreError) -> Void) throws(StoreError) {
        try layout.visit(hidden: false) { (entry) throws(StoreError) in
            if !entry.isDirectory && entry.size >= Reflink.smallestSize { try body(entry) }
            return true
        }
    }

    /// How many bytes of `file` share the room of `first` now; nil where they are not the same any more, or one file already.
    private func share(_ first: OpenFile, _ file: OpenFile) throws(StoreError) -> Int? {
        guard first.size == file.size, try first.identity() != file.identity() else { return nil }
        if isDryRun { return file.size }
        var length = UInt64(file.size)
        if larder_share_bytes(first.descriptor, file.descriptor, &length) == 0 { return Int(length) }
        // Replaced since it was read.
        if errno == EILSEQ { return nil }
        throw StoreError("dedupe", file.path)
    }
}

/// What a sharing has done so far.
public struct ReflinkReport: Hashable, Sendable {
    /// Files that were looked at; what is too small to be shared is not counted.
    public var seen = 0
    /// Files that were read, as there is another one of the same length.
    public var read = 0
    /// Files that share the bytes of another one now, or in a dry run could; also those that did so before.
    public var shared = 0
    /// How many bytes those are.
    public var sharedBytes = 0
    /// Files that could not be read or shared.
    public var failed = 0
    /// The first failure.
    public var firstFailure: StoreError?
}
