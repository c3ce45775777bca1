private import CLinux
import Glibc

extension DirectoryStore {
    /// Deletes files older than the policy's age, then the oldest of the rest until they occupy less than half its
    /// size.
    ///
    /// Reads each file's attributes once, and again immediately before deleting it for its size. Needs 32 bytes for
    /// each of the newest files that fit into the size, and keeps each distinct extension once. A stopped run has
    /// deleted only expired files. Hidden files stay; files whose names are not UTF-8 stay and count as failed. Refuses
    /// a directory that is a symbolic link. Source: SDWebImage 5.21.5, `SDDiskCache.removeExpiredData`.
    public func expire(
        _ policy: ExpiryPolicy = ExpiryPolicy(), now: Timestamp = .now, isDryRun: Bool = false,
        deleted: (ExpiredFile) -> Void = { _ in }, progress: (ExpiryReport) -> Bool = { _ in true }
    ) throws(StoreError) -> ExpiryReport {
        if isDryRun {
            var run = try ExpiryRun(layout, policy, now: now, isDryRun: true)
            return try run.run(deleted, progress)
        }
        let lock = try ExpiryLock(in: layout.root)
        var run = try ExpiryRun(layout, policy, now: now, isDryRun: false)
        let report = try run.run(deleted, progress)
        lock.release()
        return report
    }
}

/// One expiry run over a directory.
private struct ExpiryRun: ~Copyable {
    private let held: HeldDirectory
    private let layout: CacheLayout
    private let policy: ExpiryPolicy
    private let isDryRun: Bool
    /// Spares files used since then; nil spares none.
    private let sparedSince: Timestamp?
    /// Whether a running process has the store open, as far as known.
    private var isOpen: Bool
    private var decision: ExpiryDecision
    private var report = ExpiryReport()

    init(_ layout: CacheLayout, _ policy: ExpiryPolicy, now: Timestamp, isDryRun: Bool) throws(StoreError) {
        let isSparing = policy.sparing > .zero
        let isOpen = isSparing ? try OpenMarker.existsForRunningProcess(in: layout.root) : false
        held = try HeldDirectory(of: layout)
        self.layout = layout
        self.policy = policy
        self.isDryRun = isDryRun
        self.isOpen = isOpen
        decision = ExpiryDecision(policy.withDates(of: layout.naming), now: now)
        // A process may open the store during the run.
        sparedSince = isSparing ? (isOpen ? now - policy.sparing : Timestamp.nowOfFiles) : nil
    }

    mutating func run(
        _ deleted: (ExpiredFile) -> Void, _ progress: (ExpiryReport) -> Bool
    ) throws(StoreError) -> ExpiryReport {
        let walk = DirectoryWalk(directory: layout.directory, includesHidden: false, followsLink: false)
        try walk.visit { (entry) throws(StoreError) in
            guard !entry.isDirectory else { return true }
            check(entry, deleted)
            deleteForSize(deleted)
            report.isPartial = !progress(report)
            return !report.isPartial
        }
        return report
    }

    private mutating func check(_ entry: CacheEntry, _ deleted: (ExpiredFile) -> Void) {
        report.seen.add(entry.allocated)
        let date = entry.date(policy.date)
        let isSpared = isInUse([entry.accessed, entry.modified, entry.changed])
        switch decision.add(
            entry.path, date: date, allocated: entry.allocated, isSpared: isSpared || !entry.isPathExact)
        {
        case .kept: break
        case .spared where isSpared: report.spared.add(entry.allocated)
        case .spared: fail(StoreError(.invalidName, "delete", layout.path(named: entry.path)), entry.allocated)
        case .tooOld:
            let file = ExpiredFile(path: entry.path, allocated: entry.allocated, date: date, reason: .age)
            if delete(file) { deleted(file) }
        }
    }

    private mutating func deleteForSize(_ deleted: (ExpiredFile) -> Void) {
        while let (oldest, name) = decision.next() {
            let file = ExpiredFile(path: name, allocated: oldest.allocated, date: oldest.date, reason: .size)
            if isInUseNow(file) {
                report.spared.add(file.allocated)
                decision.couldNotDelete(oldest)
            } else if delete(file) {
                deleted(file)
            } else {
                decision.couldNotDelete(oldest)
            }
        }
    }

    /// Reads the dates again, as the file may have been read or replaced since it was listed.
    private mutating func isInUseNow(_ file: ExpiredFile) -> Bool {
        guard sparedSince != nil else { return false }
        var status = larder_entry()
        guard larder_read_entry(AT_FDCWD, layout.path(named: file.path), &status) == 0 else { return false }
        return isInUse([status.accessed, status.modified, status.changed].map(Timestamp.init(nanoseconds:)))
    }

    /// Whether a date set by reading, storing or renaming is recent while a process has the store open.
    private mutating func isInUse(_ dates: [Timestamp]) -> Bool {
        guard let sparedSince else { return false }
        // A use never sets a future date.
        let now = Timestamp.now
        guard dates.contains(where: { $0 >= sparedSince && $0 <= now }) else { return false }
        // If the markers cannot be read, spare the file.
        if !isOpen { isOpen = (try? OpenMarker.existsForRunningProcess(in: layout.root)) ?? true }
        return isOpen
    }

    private mutating func fail(_ error: StoreError, _ allocated: Int) {
        report.firstFailure = report.firstFailure ?? error
        report.failed.add(allocated)
    }

    /// Deletes the file; true if deleted, or if a dry run would delete it.
    private mutating func delete(_ file: ExpiredFile) -> Bool {
        do throws(StoreError) {
            if !isDryRun { try held.unlink(file.path) }
        } catch {
            fail(error, file.allocated)
            return false
        }
        report.count(file)
        return true
    }
}

/// The lock of the one process that expires a cache; released by `deinit` and when the process ends.
///
/// Concurrent runs would only repeat work, so file systems without locks are accepted.
struct ExpiryLock: ~Copyable {
    private let file: Descriptor

    /// - Throws: `StoreError`, `busy` while another process holds it.
    init(in root: String) throws(StoreError) {
        let file = try Self.open(root + "/.larder-expiry", in: root)
        try file.lock(to: "expire the cache in", root)
        self.file = file
    }

    private static func open(_ path: String, in root: String) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            guard let file = try Descriptor(ifPresent: path, O_RDWR | O_CREAT | O_NOFOLLOW) else {
                throw StoreError("open", root, number: ENOENT)
            }
            return file
        } catch {
            // Another user's file can be locked through a read-only descriptor.
            guard error.code == .permission, let file = try? Descriptor(opening: path, O_RDONLY | O_NOFOLLOW) else {
                throw error
            }
            return file
        }
    }

    consuming func release() {}
}
