private import CLinux
import Glibc

/// Deletes what has expired in a cache: first what is too old, then the oldest of the rest until less than half the limit
/// is taken.
///
/// One walk and one look at each file, and a second one at those whose turn comes for the room they take: they may have
/// been met long before. Held are 32 bytes for each of the newest files that fit into the limit, and each different ending
/// of their names once. Stopped at any point it has deleted only what was due, and the next run goes on. Hidden files are
/// never touched; what has a name that is no UTF-8, and so is none of a cache's, stays and stands in the report.
/// Source: SDWebImage 5.21.5, `SDDiskCache.removeExpiredData`.
public struct Expiry: Sendable {
    /// How far it has come: asked after each file, answers whether to go on.
    public typealias Progress = (ExpiryReport) -> Bool

    private let layout: CacheLayout
    private let policy: ExpiryPolicy
    private let spared: Duration
    private let isDryRun: Bool

    /// - Parameters:
    ///   - layout: the cache.
    ///   - policy: SDWebImage's defaults by default.
    ///   - spared: while a process has the cache open, files that were stored or read so lately stay; 15 minutes by default,
    ///     longer than a job takes. Without such a process, or with zero, the policy alone decides.
    ///   - isDryRun: tells what would go and deletes nothing.
    public init(
        _ layout: CacheLayout, policy: ExpiryPolicy = ExpiryPolicy(), sparing spared: Duration = .seconds(900),
        isDryRun: Bool = false
    ) {
        self.layout = layout
        self.policy = policy
        self.spared = spared
        self.isDryRun = isDryRun
    }

    /// Expires, as of `now`. Blocks, for seconds where there are millions of files.
    ///
    /// - Parameters:
    ///   - now: what ages are counted from.
    ///   - deleted: told of every file that has gone, or in a dry run would go.
    ///   - progress: asked after each file; it answers whether to go on.
    /// - Returns: what was done.
    /// - Throws: `StoreError`, `busy` when another process expires this cache, `missing` when there is none. A file that
    ///   cannot be deleted is no error but stands in the report.
    public func run(
        now: Timestamp = .now, deleted: (ExpiredFile) -> Void = { _ in }, progress: Progress = { _ in true }
    ) throws(StoreError) -> ExpiryReport {
        if isDryRun { return try walk(now, deleted, progress) }
        let lock = try ExpiryLock(in: layout.root)
        let report = try walk(now, deleted, progress)
        lock.release()
        return report
    }

    private func walk(
        _ now: Timestamp, _ deleted: (ExpiredFile) -> Void, _ progress: Progress
    ) throws(StoreError) -> ExpiryReport {
        let isAtWork = spared > .zero ? try OpenMarker.anyLives(in: layout.root) : false
        // Where nobody is at work, somebody may still come while this walks.
        let sparedSince = isAtWork ? now - spared : Timestamp.nowOfFiles
        var round = ExpiryRound(
            layout, policy, now: now, sparedSince: spared > .zero ? sparedSince : nil, isAtWork: isAtWork,
            isDryRun: isDryRun)
        try DirectoryWalk(directory: layout.directory, meetsHidden: false).visit { (entry) throws(StoreError) in
            guard !entry.isDirectory else { return true }
            round.meet(entry, deleted)
            if progress(round.report) { return true }
            round.stop()
            return false
        }
        return round.report
    }
}

/// One run over the files.
private struct ExpiryRound {
    let layout: CacheLayout
    let directory: String
    let dateKind: ExpiryPolicy.DateKind
    /// What was used since then is spared; nil when nothing is.
    let sparedSince: Timestamp?
    let isDryRun: Bool
    /// Whether somebody was seen at work.
    private var isAtWork: Bool
    private(set) var report = ExpiryReport()
    private var decision: ExpiryDecision

    init(
        _ layout: CacheLayout, _ policy: ExpiryPolicy, now: Timestamp, sparedSince: Timestamp?, isAtWork: Bool,
        isDryRun: Bool
    ) {
        self.layout = layout
        directory = layout.directory
        self.isAtWork = isAtWork
        self.sparedSince = sparedSince
        self.isDryRun = isDryRun
        dateKind = policy.date
        decision = ExpiryDecision(policy, now: now)
    }

    mutating func meet(_ entry: CacheEntry, _ deleted: (ExpiredFile) -> Void) {
        report.seen.add(entry.allocated)
        let date = entry.date(dateKind)
        let isSpared = isInUse(accessed: entry.accessed, modified: entry.modified, changed: entry.changed)
        switch decision.meet(
            entry.path, date: date, allocated: entry.allocated, isSpared: isSpared || !entry.isNamedWhole)
        {
        case .kept: break
        case .spared where isSpared: report.spared.add(entry.allocated)
        case .spared: fail(StoreError(.invalidName, "delete", directory + "/" + entry.path), entry.allocated)
        case .tooOld:
            let file = ExpiredFile(path: entry.path, allocated: entry.allocated, date: date, reason: .age)
            if delete(file) { deleted(file) }
        }
        while let (oldest, name) = decision.next() {
            let file = ExpiredFile(path: name, allocated: oldest.allocated, date: oldest.date, reason: .size)
            // Time has passed since it was met: somebody at work may have read or replaced it.
            if isInUseByNow(file) {
                report.spared.add(file.allocated)
                decision.couldNotDelete(oldest)
            } else if delete(file) {
                deleted(file)
            } else {
                decision.couldNotDelete(oldest)
            }
        }
    }

    mutating func stop() { report.isPartial = true }

    private mutating func isInUseByNow(_ file: ExpiredFile) -> Bool {
        guard sparedSince != nil else { return false }
        var status = larder_entry()
        guard larder_read_entry(AT_FDCWD, directory + "/" + file.path, &status) == 0 else { return false }
        return isInUse(
            accessed: Timestamp(nanoseconds: status.accessed), modified: Timestamp(nanoseconds: status.modified),
            changed: Timestamp(nanoseconds: status.changed))
    }

    /// Whether one of the dates that a use by Larder moves (read, stored, renamed) tells of one so lately that the file is
    /// spared, while somebody is at work. A date to come tells of no use, and hides none that another date tells of.
    private mutating func isInUse(accessed: Timestamp, modified: Timestamp, changed: Timestamp) -> Bool {
        guard let sparedSince else { return false }
        let now = Timestamp.now
        func isUse(_ date: Timestamp) -> Bool { date >= sparedSince && date <= now }
        guard isUse(accessed) || isUse(modified) || isUse(changed) else { return false }
        // Since the start, then; but by somebody at work? Who cannot be told is taken for that.
        if !isAtWork { isAtWork = (try? OpenMarker.anyLives(in: layout.root)) ?? true }
        return isAtWork
    }

    private mutating func fail(_ error: StoreError, _ allocated: Int) {
        report.firstFailure = report.firstFailure ?? error
        report.failed.add(allocated)
    }

    /// Whether the file is gone, or in a dry run would be.
    private mutating func delete(_ file: ExpiredFile) -> Bool {
        let path = directory + "/" + file.path
        // What somebody else has just deleted is gone, too.
        if !isDryRun && unlink(path) != 0 && errno != ENOENT {
            fail(StoreError("unlink", path), file.allocated)
            return false
        }
        switch file.reason {
        case .age: report.aged.add(file.allocated)
        case .size: report.crowded.add(file.allocated)
        }
        return true
    }
}
