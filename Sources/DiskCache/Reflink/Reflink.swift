private import CLinux
import Glibc

/// Makes files with equal contents share their blocks, on file systems with reflinks (XFS, btrfs).
///
/// The kernel compares two files and shares the blocks. Names, dates, attributes and inodes stay, so expiry is
/// unaffected, and replacing or deleting one file does not change the others. Hard links would share dates and
/// attributes. Equal files exist if several URLs have the same image, or a variant equals its original.
package struct Reflink: Sendable {
    private let store: DirectoryStore
    private let isDryRun: Bool

    /// In bytes. Smaller files cannot share blocks.
    static let minSize = 4096

    /// - Parameter isDryRun: finds equal files but shares nothing.
    package init(_ store: DirectoryStore, isDryRun: Bool = false) {
        self.store = store
        self.isDryRun = isDryRun
    }

    /// Reads every file whose size is not unique, without changing access times. Blocks.
    ///
    /// May be interrupted at any point; the next run starts from the beginning.
    ///
    /// - Parameters:
    ///   - shared: called for each file that shares an earlier file's blocks, or could in a dry run.
    ///   - progress: called after each file.
    /// - Throws: `StoreError`, `unsupported` if the file system cannot share blocks. Failures of single files are
    ///   counted in the report.
    package func run(
        shared: (_ file: String, _ first: String) -> Void = { _, _ in }, progress: (ReflinkReport) -> Void = { _ in }
    ) throws(StoreError) -> ReflinkReport {
        var report = ReflinkReport()
        var equal = EqualFiles()
        try forEachLargeFile { (entry) throws(StoreError) in equal.add(size: entry.size) }
        try forEachLargeFile { (entry) throws(StoreError) in
            report.seen += 1
            defer { progress(report) }
            guard equal.isRepeated(size: entry.size) else { return }
            do throws(StoreError) {
                guard let file = try store.peek(named: entry.path) else { return }
                let digest = try file.sha256()
                report.read += 1
                guard let name = equal.first(equalTo: entry.path, sha256: digest) else { return }
                guard let first = try store.peek(named: name) else {
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

    private func forEachLargeFile(_ body: (CacheEntry) throws(StoreError) -> Void) throws(StoreError) {
        try store.list { (entry) throws(StoreError) in
            if entry.size >= Self.minSize { try body(entry) }
            return true
        }
    }

    /// Bytes of `file` that share the blocks of `first`; nil if the contents differ or both are one file.
    private func share(_ first: OpenFile, _ file: OpenFile) throws(StoreError) -> Int? {
        guard first.size == file.size, try first.identity() != file.identity() else { return nil }
        if isDryRun { return file.size }
        var length = UInt64(file.size)
        if larder_share_bytes(first.descriptor, file.descriptor, &length) == 0 { return Int(length) }
        // The contents differ: the file was replaced after it was read.
        if errno == EILSEQ { return nil }
        throw StoreError("dedupe", file.path)
    }
}

/// Counts of a run so far.
package struct ReflinkReport: Hashable, Sendable {
    /// Files that are large enough.
    package var seen = 0
    /// Files read because another one has the same size.
    package var read = 0
    /// Files that share another one's blocks, or could in a dry run. Includes files that already did.
    package var shared = 0
    package var sharedBytes = 0
    /// Files that could not be read or shared.
    package var failed = 0
    package var firstFailure: StoreError?
}

/// Finds files with equal contents: by size, then by SHA-256 if the size is not unique. Needs less than 100 bytes per
/// file.
struct EqualFiles {
    private var sizes: [Int: Bool] = [:]
    private var firsts: [UInt64: PackedName] = [:]
    private var names = PackedName.Table()

    /// First pass: adds a file's size.
    mutating func add(size: Int) { sizes[size] = sizes[size] != nil }

    /// Whether several files have this size.
    func isRepeated(size: Int) -> Bool { sizes[size] == true }

    /// Second pass: the first file with this digest; nil for that file itself.
    ///
    /// Compares 64 bits of the digest: the caller must compare the contents.
    mutating func first(equalTo name: String, sha256: String) -> String? {
        let digest = Self.prefix(sha256)
        if let first = firsts[digest] { return names.text(first) }
        firsts[digest] = names.pack(name)
        return nil
    }

    /// Replaces the first file with this digest, which no longer exists.
    mutating func replaceFirst(by name: String, sha256: String) {
        if let old = firsts.updateValue(names.pack(name), forKey: Self.prefix(sha256)) { names.release(old) }
    }

    private static func prefix(_ sha256: String) -> UInt64 { UInt64(sha256.prefix(16), radix: 16) ?? 0 }
}
