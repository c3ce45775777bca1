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

/// The expected contents of the queue, in plain Swift: the oracle of the random test. One queue, one caller at a time.
struct QueueModel {
    struct Key: Hashable {
        let url: String
        let pipeline: String
    }

    /// Items of a batch, and retries of its jobs.
    struct Counts: Equatable {
        var total = 0
        var succeeded = 0
        var failed = 0
        var cancelled = 0
        var fresh = 0
        var blocked = 0
        var invalid = 0
        var joined = 0
        var retries = 0

        var open: Int { total - succeeded - failed - cancelled }
    }

    struct Batch {
        var counts = Counts()
        var priority: Int
        var isPaused = false
        var isSealed = false
        var isCancelled = false
        var isFinished = false

        var goesOn: Bool { !isPaused && !isCancelled }
    }

    /// One claim of one worker on one job.
    struct Run: Hashable {
        let worker: Int64
        let claim: Claim
    }

    enum Place: Equatable {
        case ready
        /// Due, or far in the future.
        case scheduled(isDue: Bool)
        case running(Run)
        /// Lost, paused or cancelled.
        case suspended(String)
    }

    /// Whether a running job is to stop: `revived` when it was joined after its cancellation.
    enum Notice { case none, requested, revived }

    struct LiveJob {
        let id: Int64
        let key: Key
        let home: String
        /// Items per batch, none of them zero.
        var items: [String: Int]
        /// The items of the call that made it; the others joined.
        var homeItems: Int
        var isJoined: Bool { items.values.reduce(0, +) > homeItems }
        let maxAttempts: Int
        var passesBlocklist: Bool
        var priority: Int
        var place: Place
        var attempt = 0
        var rescues = 0
        var crashes = 0
        var notice = Notice.none
    }

    /// A job that is over.
    struct Ended {
        let run: Run?
        let decision: String
        let home: String
        /// Its place in `failures`, when its own batch has an item that failed with it.
        var failure: Int?
    }

    /// Failed items of a batch with one record.
    struct Failure {
        enum Kind { case own, followed, blocked, invalid }
        enum State: Equatable { case open, dropped, retried(as: Int64) }
        let batch: String
        let kind: Kind
        let key: Key
        let items: Int
        let priority: Int
        let job: Int64?
        var maxAttempts: Int?
        var state = State.open
    }

    enum End: CaseIterable {
        /// Whether it is a success, by a download or without.
        var isSuccess: Bool { self == .succeeded || self == .foundInCache }

        case succeeded, foundInCache, unavailable, missing, notAnImage, transcoderDied, handshake, tooLarge, cancelled
        /// The download succeeded, a variant did not.
        case badVariant
    }

    var batches: [String: Batch] = [:]
    var jobs: [Int64: LiveJob] = [:]
    var live: [Key: Int64] = [:]
    var history: [Int64: Ended] = [:]
    var failures: [Failure] = []
    /// URLs blocked after a failure.
    var blocked: Set<String> = []
    /// URLs blocked by an operator.
    var operatorBlocked: Set<String> = []
    /// Runs that ended with a retry.
    var retriedRuns: Set<Run> = []
    /// The files of the one cache.
    var stored: Set<Key> = []
    var cachingWorkers: Set<Int64> = []
    var deadWorkers: Set<Int64> = []
    var isPaused = false
    var isNewestFirst = false
    /// As URLs that begin with them.
    var heldOrigins: Set<String> = []
    /// The turns of the ready jobs, as the database has them now.
    var turns: [Int64: Int64] = [:]
    /// Behind which turns claims start, by priority, as the database has them now.
    var turnCursors = [Int64](repeating: -1, count: 10)

    static let lowPriorityEvery: Int64 = 8
    static let mostRescues = 5

    /// The arguments of enqueue, for all URLs of a call.
    struct EnqueueOptions {
        var pipeline = "original"
        var priority = 4
        var maxAttempts = 4
        var isLate = false
        var passesBlocklist = false
        var asksFreshness = false
    }

    /// The answer to one URL, given the job that the queue named. `made`: the jobs that this call made so far.
    mutating func enqueue(
        _ url: String, to batch: String, _ options: EnqueueOptions, job: Int64?, made: inout Set<Int64>
    ) -> String {
        let key = Key(url: url, pipeline: options.pipeline)
        func failed(_ kind: Failure.Kind) -> Failure {
            Failure(
                batch: batch, kind: kind, key: key, items: 1, priority: options.priority, job: nil,
                maxAttempts: options.maxAttempts)
        }
        batches[batch, default: Batch(priority: options.priority)].counts.total += 1
        guard url.hasPrefix("http") else {
            batches[batch]?.counts.failed += 1
            batches[batch]?.counts.invalid += 1
            failures.append(failed(.invalid))
            return "invalid"
        }
        if operatorBlocked.contains(url) || blocked.contains(url) && !options.passesBlocklist {
            batches[batch]?.counts.failed += 1
            batches[batch]?.counts.blocked += 1
            failures.append(failed(.blocked))
            return "blocked"
        }
        if options.asksFreshness && stored.contains(key) {
            batches[batch]?.counts.succeeded += 1
            batches[batch]?.counts.fresh += 1
            return "fresh"
        }
        if let known = live[key] {
            batches[batch]?.counts.joined += 1
            join(known, batch, items: 1, priority: options.priority, isLate: options.isLate)
            if made.contains(known) { jobs[known]?.homeItems += 1 }
            return known == job ? "joined" : "joined to \(known)"
        }
        guard let job else { return "no job" }
        live[key] = job
        made.insert(job)
        jobs[job] = LiveJob(
            id: job, key: key, home: batch, items: [batch: 1], homeItems: 1, maxAttempts: options.maxAttempts,
            passesBlocklist: options.passesBlocklist, priority: options.priority,
            place: options.isLate ? .scheduled(isDue: false) : .ready)
        return "inserted"
    }

    /// A batch's items ride on a live job from now on.
    mutating func join(_ id: Int64, _ batch: String, items: Int, priority: Int, isLate: Bool) {
        guard var job = jobs[id] else { return }
        job.items[batch, default: 0] += items
        job.priority = min(job.priority, priority)
        if job.notice != .none { job.notice = .revived }
        switch job.place {
        case .suspended("paused"), .suspended("cancelled"): job.place = .ready
        case .scheduled where job.attempt == 0 && !isLate: job.place = .scheduled(isDue: true)
        default: break
        }
        jobs[id] = job
    }

    /// A job is over, and with it all items that rode on it.
    mutating func end(_ id: Int64, _ decision: String, by run: Run?) {
        guard let job = jobs.removeValue(forKey: id) else { return }
        live[job.key] = nil
        var ended = Ended(run: run, decision: decision, home: job.home)
        for (batch, items) in job.items {
            switch decision {
            case "succeeded": batches[batch]?.counts.succeeded += items
            case "cancelled": batches[batch]?.counts.cancelled += items
            default:
                batches[batch]?.counts.failed += items
                let own = batch == job.home ? job.homeItems : 0
                if own > 0 { ended.failure = failures.count }
                for (kind, part) in [(Failure.Kind.own, own), (.followed, items - own)] where part > 0 {
                    failures.append(
                        Failure(
                            batch: batch, kind: kind, key: job.key, items: part, priority: job.priority, job: id,
                            maxAttempts: job.maxAttempts))
                }
            }
        }
        history[id] = ended
    }

    /// Whether a job's origin is to be left alone.
    func isHeldBack(_ job: LiveJob) -> Bool { heldOrigins.contains { job.key.url.hasPrefix($0) } }

    /// Why no batch that has a job lets it run: nil when one does.
    func holdReason(_ job: LiveJob) -> String? {
        let wanting = job.items.keys.compactMap { batches[$0] }
        if wanting.contains(where: \.goesOn) { return nil }
        return wanting.contains { !$0.isCancelled } ? "paused" : "cancelled"
    }

    /// The live jobs as the database would list them, in order.
    var lines: [String] {
        jobs.values.sorted { $0.id < $1.id }.map { job in
            let place =
                switch job.place {
                case .ready: "ready \(job.priority)"
                case .scheduled: "scheduled"
                case .running(let run): "running \(run.worker) \(run.claim.number)"
                case .suspended(let why): "suspended \(why)"
                }
            let items = job.items.map { "\($0):\($1)" }.sorted().joined(separator: ",")
            let notice =
                switch job.notice {
                case .none: ""
                case .requested: "requested"
                case .revived: "revived"
                }
            return
                "\(job.id) \(job.priority) \(job.attempt) \(job.rescues) \(job.crashes) [\(place)] [\(items)] \(notice)"
        }
    }
}
