@testable import JobQueue

/// A generator that gives the same numbers for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// What the queue should hold, in plain Swift: the oracle of the random test.
struct QueueModel {
    struct Key: Hashable {
        let url: String
        let pipeline: String
    }

    struct Counts: Equatable {
        var total = 0
        var succeeded = 0
        var failed = 0
        var cancelled = 0
    }

    struct LiveJob {
        let key: Key
        /// Items per batch.
        var items: [String: Int]
        var attempt = 0
        let maxAttempts: Int
    }

    /// A claim, the worker it was given to, and what was decided on it.
    struct HeldClaim {
        let worker: Int
        let claim: Claim
        var isHeld = true
        var recorded: String?
    }

    enum End: CaseIterable {
        case succeeded, unavailable, notAnImage, cancelled
    }

    var counts: [String: Counts] = [:]
    var jobs: [Int64: LiveJob] = [:]
    var live: [Key: Int64] = [:]
    var blocked: Set<String> = []
    var claims: [HeldClaim] = []

    /// The answer to one URL, given the job that the queue named.
    mutating func enqueue(_ key: Key, batch: String, job: Int64?, maxAttempts: Int) -> EnqueueAnswer.Kind {
        counts[batch, default: Counts()].total += 1
        guard key.url.hasPrefix("http") else {
            counts[batch]?.failed += 1
            return .invalid
        }
        guard !blocked.contains(key.url) else {
            counts[batch]?.failed += 1
            return .blocked
        }
        if let known = live[key] {
            jobs[known]?.items[batch, default: 0] += 1
            return known == job ? .joined : .fresh  // never fresh here: another job would be an error
        }
        guard let job else { return .fresh }
        live[key] = job
        jobs[job] = LiveJob(key: key, items: [batch: 1], maxAttempts: maxAttempts)
        return .inserted
    }

    /// What settling this claim must answer.
    mutating func settle(at index: Int, _ end: End) -> String {
        let held = claims[index]
        guard held.isHeld else { return held.recorded ?? "stale" }
        claims[index].isHeld = false
        guard let job = jobs[held.claim.job] else { return "no job" }
        let decision: String
        switch end {
        case .unavailable where job.attempt + 1 < job.maxAttempts:
            jobs[held.claim.job]?.attempt += 1
            decision = "retried"
        case .succeeded:
            finish(held.claim.job) { $0.succeeded += $1 }
            decision = "succeeded"
        case .cancelled:
            finish(held.claim.job) { $0.cancelled += $1 }
            decision = "cancelled"
        case .notAnImage:
            blocked.insert(job.key.url)
            fallthrough
        case .unavailable:
            finish(held.claim.job) { $0.failed += $1 }
            decision = "failed"
        }
        // A retried job's claim is remembered only until the next retry.
        for other in claims.indices where claims[other].claim.job == held.claim.job {
            if claims[other].recorded == "retried" {
                claims[other].recorded = decision == "retried" ? nil : "forgotten"
            }
        }
        claims[index].recorded = decision
        return decision
    }

    private mutating func finish(_ id: Int64, _ add: (inout Counts, Int) -> Void) {
        guard let job = jobs.removeValue(forKey: id) else { return }
        live[job.key] = nil
        for (batch, items) in job.items { add(&counts[batch, default: Counts()], items) }
    }

    /// The worker is gone: its claims stand no more.
    mutating func lose(worker: Int) {
        for index in claims.indices where claims[index].worker == worker { claims[index].isHeld = false }
    }
}

extension Settlement.Decision {
    /// The decision's bare name, as the model and the SQL call it.
    var name: String {
        switch self {
        case .succeeded: "succeeded"
        case .retried: "retried"
        case .failed: "failed"
        case .cancelled: "cancelled"
        case .stale: "stale"
        case .busy: "busy"
        }
    }
}
