@testable import JobQueue

/// Calls of workers and maintenance on the model.
extension QueueModel {
    /// The jobs that a claim returns, in order. `batch`: only what it has, above `after` first.
    mutating func claim(
        _ worker: Int64, _ number: Int64, most: Int, after: Int64 = 0, of batch: String? = nil, again isAgain: Bool
    ) -> [Int64] {
        let again = jobs.values.filter {
            if case .running(let run) = $0.place { run.worker == worker && run.claim.number == number } else { false }
        }
        guard !isAgain || again.isEmpty else {
            return again.sorted { ($0.priority, $0.id) < ($1.priority, $1.id) }.map(\.id)
        }
        guard !isPaused else { return [] }
        if let batch { return claim(of: batch, worker, number, most: most, after: after) }
        // Otherwise the reason to hold a job is not evaluated.
        let isSomeHeld =
            batches.values.contains { !$0.isFinished && !$0.goesOn }
            || jobs.values.contains { $0.homeItems == 0 }
        let first = firstPriority(turn: worker + number)
        let priorities = [first] + (0...9).filter { $0 != first }
        var got: [Int64] = []
        var isSomeAside = false
        for round in 1...4 {
            let missing = most - got.count
            let portion = round == 1 ? missing : round == 2 ? min(4 * missing + 4, 1_000) : 1_000
            isSomeAside = false
            var taken: [LiveJob] = []
            let ready = jobs.values.filter { $0.place == .ready }
            for priority in priorities {
                let inPriority = ready.filter { $0.priority == priority && isBehindFloor($0) }.sorted(by: isEarlier)
                taken += inPriority.prefix(portion - taken.count)
            }
            var going: [LiveJob] = []
            for job in taken {
                if isSomeHeld, let reason = holdReason(job) {
                    isSomeAside = true
                    jobs[job.id]?.place = .suspended(reason)
                } else {
                    going.append(job)
                }
            }
            if keepAway(&going, missing) { isSomeAside = true }
            // Returned in order of priority, in whatever order they were picked.
            going.sort { $0.priority == $1.priority ? isEarlier($0, $1) : $0.priority < $1.priority }
            for job in going {
                jobs[job.id]?.place = .running(Run(worker: worker, claim: Claim(job: job.id, number: number)))
                got.append(job.id)
            }
            if got.count >= most || !isSomeAside { break }
        }
        return got
    }

    /// In every eighth turn a lower priority that has ready jobs, else the highest.
    private func firstPriority(turn: Int64) -> Int {
        guard turn % Self.lowPriorityEvery == 0 else { return 0 }
        let ready = jobs.values.filter { $0.place == .ready && isBehindFloor($0) }
        let present = Set(ready.map(\.priority)).sorted()
        guard present.count > 1 else { return 0 }
        return present[1 + Int(turn / Self.lowPriorityEvery) % (present.count - 1)]
    }

    private func isBehindFloor(_ job: LiveJob) -> Bool {
        isNewestFirst || turns[job.id] ?? 0 > turnCursors[job.priority]
    }

    /// The order of claims within a priority.
    private func isEarlier(_ one: LiveJob, _ other: LiveJob) -> Bool {
        (turns[one.id] ?? 0, one.id) < (turns[other.id] ?? 0, other.id)
    }

    /// The same of what one batch has.
    private mutating func claim(of name: String, _ worker: Int64, _ number: Int64, most: Int, after: Int64)
        -> [Int64]
    {
        guard let batch = batches[name], batch.goesOn, !batch.isFinished else { return [] }
        var after = after
        var got: [Int64] = []
        var isSomeAway = false
        for _ in 1...5 {
            var found = jobs.values.filter { $0.place == .ready && $0.items[name] != nil && $0.id > after }
                .sorted { $0.id < $1.id }
            found = Array(found.prefix(isSomeAway ? 1_000 : most - got.count))
            isSomeAway = keepAway(&found, most - got.count)
            found.sort { $0.priority == $1.priority ? isEarlier($0, $1) : $0.priority < $1.priority }
            for job in found {
                jobs[job.id]?.place = .running(Run(worker: worker, claim: Claim(job: job.id, number: number)))
            }
            got += found.map(\.id)
            if got.count >= most || after == 0 && !isSomeAway { break }
            after = 0
        }
        return got
    }

    /// Leaves of these jobs at most so many that may run; jobs of held origins come back later. True when there were
    /// jobs of held origins.
    private mutating func keepAway(_ picked: inout [LiveJob], _ wanted: Int) -> Bool {
        let away = picked.filter(isHeldBack)
        for job in away { jobs[job.id]?.place = .scheduled(isDue: false) }
        picked = Array(picked.filter { !isHeldBack($0) }.prefix(wanted))
        return !away.isEmpty
    }

    /// The answer that completing this run must get.
    mutating func complete(_ run: Run, _ end: End, asksToWait: Bool) -> String {
        let id = run.claim.job
        guard var job = jobs[id], job.place == .running(run) else {
            if let ended = history[id], ended.run == run { return ended.decision }
            return retriedRuns.contains(run) ? "retried" : "stale"
        }
        switch end {
        case .succeeded, .foundInCache:
            if job.passesBlocklist && end == .succeeded { blocked.remove(job.key.url) }
            if cachingWorkers.contains(run.worker) && end == .succeeded { stored.insert(job.key) }
            self.end(id, "succeeded", by: run)
            return "succeeded"
        case .cancelled where job.notice == .revived:
            job.notice = .none
            retriedRuns.insert(run)
            jobs[id] = job
            putBack(id)
            return "retried"
        case .cancelled:
            self.end(id, "cancelled", by: run)
            return "cancelled"
        default: break
        }
        let isPoison = end == .transcoderDied && job.crashes > 0
        let isRetried = [.unavailable, .transcoderDied, .handshake].contains(end) && !isPoison
        if end == .badVariant && job.passesBlocklist { blocked.remove(job.key.url) }
        if !isRetried || job.attempt + 1 >= job.maxAttempts {
            if [.notAnImage, .handshake].contains(end) || isPoison { blocked.insert(job.key.url) }
            self.end(id, "failed", by: run)
            return "failed"
        }
        if job.notice == .requested {
            self.end(id, "cancelled", by: run)
            return "cancelled"
        }
        job.attempt += 1
        if end == .transcoderDied { job.crashes += 1 }
        job.notice = .none
        retriedRuns.insert(run)
        job.place = .scheduled(isDue: !asksToWait)
        jobs[id] = job
        batches[job.home]?.counts.retries += 1
        return "retried"
    }

    mutating func release(_ runs: [Run]) {
        for run in runs where jobs[run.claim.job]?.place == .running(run) { giveBack(run.claim.job) }
    }

    mutating func stop(_ worker: Int64) {
        deadWorkers.insert(worker)
        for job in held(by: worker) { giveBack(job.id) }
    }

    /// Ready again, unless it was cancelled while it ran: then maintenance ends it.
    mutating func giveBack(_ id: Int64) {
        if jobs[id]?.notice == .requested { jobs[id]?.place = .suspended("cancelled") } else { putBack(id) }
    }

    func held(by worker: Int64) -> [LiveJob] {
        jobs.values.filter { if case .running(let run) = $0.place { run.worker == worker } else { false } }
    }

    /// The jobs that the next heartbeat of a worker reports as cancelled.
    func cancelled(of worker: Int64) -> Set<Int64> {
        Set(held(by: worker).filter { $0.notice == .requested }.map(\.id))
    }

    /// All maintenance in its order.
    mutating func maintain() {
        for worker in deadWorkers {
            for job in held(by: worker) {
                jobs[job.id]?.rescues += 1
                if job.rescues + 1 >= Self.mostRescues && job.notice != .requested {
                    jobs[job.id]?.place = .suspended("crashed")
                } else {
                    giveBack(job.id)
                }
            }
        }
        for job in jobs.values where job.place == .scheduled(isDue: true) { putBack(job.id) }
        let isSomeHeld =
            batches.values.contains { !$0.isFinished && !$0.goesOn }
            || jobs.values.contains { $0.homeItems == 0 }
        for job in jobs.values where job.place == .ready && (isHeldBack(job) || isPausedAlone(job)) {
            if isSomeHeld, let reason = holdReason(job) {
                jobs[job.id]?.place = .suspended(reason)
            } else if isHeldBack(job) {
                jobs[job.id]?.place = .scheduled(isDue: false)
            }
        }
        let wanted = Set(jobs.values.flatMap(\.items.keys))
        for (name, batch) in batches where batch.isSealed && batch.counts.open == 0 && !wanted.contains(name) {
            batches[name]?.isFinished = true
        }
        for job in jobs.values where job.place == .suspended("cancelled") || job.place == .suspended("paused") {
            let isRequested = job.place == .suspended("cancelled") && job.notice == .requested
            if !isRequested && unsuspend(job.id) { continue }
            if isRequested || job.place == .suspended("cancelled") && job.items.isEmpty {
                end(job.id, "cancelled", by: nil)
            }
        }
    }

    /// Whether the batch of a job is paused and no other one has it.
    private func isPausedAlone(_ job: LiveJob) -> Bool {
        guard let home = batches[job.home], home.isPaused, !home.isCancelled else { return false }
        return !job.isJoined
    }

    mutating func putBack(_ id: Int64) { jobs[id]?.place = .ready }

    /// Ready again when a batch that has the job goes on.
    mutating func unsuspend(_ id: Int64) -> Bool {
        guard let job = jobs[id], holdReason(job) == nil else { return false }
        putBack(id)
        return true
    }
}
