internal import ImageModel
internal import JobQueue

/// Credential profiles that a worker cannot use, by profile and batch.
///
/// Each fault is announced once, and forgotten if it returned no job for `lifetime`.
struct ProfileFaults: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Subject: Hashable {
        let profile: String
        let batch: Int64
    }

    /// Further faults are not recorded or announced.
    static let limit = 100
    /// Longer than a returned job waits, so that a lasting fault is announced only once.
    static let lifetime = AttemptResult.profilePause * 2

    private var kept: [Subject: (fault: ProfileFault, lastSeen: Instant)] = [:]
    private var unannounced: [ProfileFault] = []

    /// Records that a job was returned because of its profile. True if this profile and batch are new.
    mutating func add(_ reason: FailureReason, profile: String, of job: Job, at now: Instant) -> Bool {
        let subject = Subject(profile: profile, batch: job.batch)
        let isNew = kept[subject] == nil
        guard !isNew || kept.count < Self.limit else { return false }
        let fault = kept[subject]?.fault ?? ProfileFault(profile: profile, batch: job.batch, reason: reason)
        kept[subject] = (fault, now)
        if isNew { unannounced.append(fault) }
        return isNew
    }

    /// Removes faults that returned no job for `lifetime`. True if there were any.
    mutating func forget(at now: Instant) -> Bool {
        guard kept.values.contains(where: { now - $0.lastSeen >= Self.lifetime }) else { return false }
        kept = kept.filter { now - $0.value.lastSeen < Self.lifetime }
        return true
    }

    /// The next fault to announce; each is returned once.
    mutating func nextUnannounced() -> ProfileFault? { unannounced.isEmpty ? nil : unannounced.removeFirst() }

    /// One line for `larder.health`: the fault of the oldest batch, and the number of others. Nil without a fault.
    var summary: String? {
        let faults = kept.values.map(\.fault)
        guard let first = faults.min(by: { ($0.batch, $0.profile) < ($1.batch, $1.profile) }) else { return nil }
        let others = faults.count > 1 ? " (and \(faults.count - 1) more of other batches or profiles)" : ""
        return
            "only jobs that need '\(first.profile)' of batch \(first.batch): \(first.reason.message)\(others)"
    }
}
