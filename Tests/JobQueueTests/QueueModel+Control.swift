@testable import JobQueue

/// Operators' calls on the model. A call that is not possible answers the error's code.
extension QueueModel {
    /// How many items were open.
    mutating func cancel(batch name: String) -> Int {
        guard let batch = batches[name], !batch.isCancelled, !batch.isFinished else { return 0 }
        let open = batch.counts.open
        if open == 0 && batch.isSealed { return 0 }
        batches[name]?.isCancelled = true
        batches[name]?.isSealed = true
        batches[name]?.counts.cancelled += open
        for var job in jobs.values where job.items[name] != nil {
            job.items[name] = nil
            if job.home == name { job.homeItems = 0 }
            jobs[job.id] = job
            guard job.items.isEmpty else { continue }
            if case .running = job.place {
                jobs[job.id]?.notice = .requested
            } else {
                end(job.id, "cancelled", by: nil)
            }
        }
        return open
    }

    /// `cancelled`, `requested` or `over`.
    mutating func cancel(job id: Int64) -> String {
        guard let job = jobs[id] else { return "completed" }
        if case .running = job.place {
            jobs[id]?.notice = .requested
            return "requested"
        }
        end(id, "cancelled", by: nil)
        return "cancelled"
    }

    mutating func pause(_ name: String) -> QueueError.Code? {
        guard isOpenToChange(name) else { return .batchClosed }
        batches[name]?.isPaused = true
        return nil
    }

    mutating func resume(_ name: String) -> QueueError.Code? {
        guard isOpenToChange(name) else { return .batchClosed }
        guard batches[name]?.isPaused == true else { return nil }
        batches[name]?.isPaused = false
        for job in jobs.values where job.place == .suspended("paused") && job.items[name] != nil {
            _ = unsuspend(job.id)
        }
        return nil
    }

    /// How many jobs.
    mutating func reprioritize(_ name: String, to priority: Int) -> Result<Int, ModelRefusal> {
        guard isOpenToChange(name) else { return .failure(ModelRefusal(code: .batchClosed)) }
        batches[name]?.priority = priority
        var moved = 0
        for job in jobs.values where job.items[name] != nil {
            let mayComeLater = job.home == name && job.homeItems > 0 && job.items.count == 1
            guard job.priority > priority || mayComeLater && job.priority < priority else { continue }
            jobs[job.id]?.priority = priority
            if job.place == .ready { putBack(job.id) }
            moved += 1
        }
        return .success(moved)
    }

    /// How many items.
    mutating func discardFailed(of name: String) -> Int {
        var items = 0
        for index in failures.indices where failures[index].batch == name && failures[index].state == .open {
            failures[index].state = .dropped
            items += failures[index].items
        }
        return items
    }

    /// The records that a retry would take along; nil when the batch takes none back.
    func retriable(of name: String) -> [Int]? {
        guard let batch = batches[name], !batch.isCancelled else { return nil }
        return failures.indices.filter {
            failures[$0].batch == name && failures[$0].state == .open && failures[$0].kind != .invalid
        }
    }

    /// The result of retrying one job.
    enum Retry {
        /// It is live: this is its number.
        case stands(Int64)
        case refused(QueueError.Code)
        /// A failed job whose items must be reopened.
        case reopens(record: Int)
    }

    mutating func retry(job id: Int64) -> Retry {
        if let job = jobs[id] {
            switch job.place {
            case .suspended("cancelled"): return .refused(.unknownJob)
            case .scheduled, .suspended("crashed"):
                if job.place == .suspended("crashed") { jobs[id]?.rescues = 0 }
                jobs[id]?.notice = .none
                putBack(id)
            default: break
            }
            return .stands(id)
        }
        guard let ended = history[id], ended.decision == "failed", let index = ended.failure else {
            return .refused(.unknownJob)
        }
        switch failures[index].state {
        case .dropped: return .refused(.unknownJob)
        case .retried(let next): return retry(job: next)
        case .open: break
        }
        return batches[ended.home]?.isCancelled == true ? .refused(.batchClosed) : .reopens(record: index)
    }

    /// Makes jobs of failures again, with the numbers that the queue gave them. How many items.
    mutating func reopen(_ records: [Int], numbers: [Key: Int64]) -> Int {
        var items = 0
        for (key, group) in Dictionary(grouping: records, by: { failures[$0].key }) {
            let batch = failures[group[0]].batch
            let riding = group.reduce(0) { $0 + failures[$1].items }
            let priority = group.map { failures[$0].priority }.min() ?? 4
            let number = live[key] ?? numbers[key] ?? 0
            if live[key] != nil {
                join(number, batch, items: riding, priority: priority, isLate: false)
            } else {
                live[key] = number
                jobs[number] = LiveJob(
                    id: number, key: key, home: batch, items: [batch: riding], homeItems: riding,
                    maxAttempts: group.compactMap { failures[$0].maxAttempts }.max() ?? 4, passesBlocklist: true,
                    priority: priority, place: .ready)
            }
            for index in group {
                failures[index].state = .retried(as: number)
                if failures[index].kind == .blocked { batches[batch]?.counts.blocked -= failures[index].items }
            }
            batches[batch]?.counts.failed -= riding
            batches[batch]?.isFinished = false
            items += riding
        }
        return items
    }

    private func isOpenToChange(_ name: String) -> Bool {
        batches[name].map { !$0.isCancelled && !$0.isFinished } ?? false
    }
}

/// Why the model refuses.
struct ModelRefusal: Error { let code: QueueError.Code }
