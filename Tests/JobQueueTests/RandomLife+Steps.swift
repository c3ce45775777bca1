import Testing

@testable import JobQueue

/// The rarer things that happen to a queue.
extension RandomLife {
    mutating func release() async throws {
        last = "release"
        guard let worker = pick(runs)?.worker, let session = sessions[worker] else { return }
        let chosen = Array(runs.filter { $0.worker == worker }.shuffled(using: &random).prefix(3))
        model.release(chosen)
        try await WorkerSession(id: worker, lease: session.lease, queue: anyQueue()).release(chosen.map(\.claim))
    }

    mutating func heartbeat() async throws {
        last = "heartbeat"
        guard let worker = pick(workers)?.session else { return }
        let response = try await worker.heartbeat()
        expect(!response.leaseExpired, "the lease of worker \(worker.id) is lost")
        let reported = Set(response.cancelled.map(\.job))
        expect(reported == model.cancelled(of: worker.id), "reported: \(reported)")
    }

    /// A worker stops or dies, and another one comes.
    mutating func lose() async throws {
        last = "lose"
        let index = Int.random(in: 0..<workers.count, using: &random)
        let session = workers[index].session
        if chance(40) {
            model.stop(session.id)
            try await session.stop()
        } else {
            model.deadWorkers.insert(session.id)
            try await fixture.sql(
                "UPDATE larder_data.worker SET heartbeat_at = now() - interval '2 h', lease_ms = 1 WHERE id = $1",
                [.integer(session.id)])
            expect(try await session.heartbeat().leaseExpired, "a dead worker heartbeats")
        }
        try await startWorker(index)
        try await maintain()
    }

    mutating func maintain() async throws {
        last = "maintain"
        try await anyQueue().workers.maintain(force: true)
        // Floors are used for some seconds, and longer by the model.
        try await fixture.sql("UPDATE larder_data.claim_cursor SET valid_until = 'infinity'")
        model.maintain()
    }

    mutating func pauseOrResume() async throws {
        guard let name = anyBatch() else { return }
        let queue = anyQueue()
        if chance(35) {
            last = "pause \(name)"
            let foreseen = model.pause(name)
            let answer = try await code { () throws(QueueError) in try await queue.producer.pause(.name(name)) }
            expect(answer == foreseen, "\(String(describing: answer))")
        } else {
            last = "resume \(name)"
            let foreseen = model.resume(name)
            let answer = try await code { () throws(QueueError) in try await queue.producer.resume(.name(name)) }
            expect(answer == foreseen, "\(String(describing: answer))")
        }
    }

    mutating func pauseOrResumeQueue() async throws {
        last = "queue"
        if model.isPaused || chance(70) {
            model.isPaused = false
            try await anyQueue().operations.resume(queue: "default")
        } else {
            model.isPaused = true
            try await anyQueue().operations.pause(queue: "default")
        }
    }

    mutating func cancelBatch() async throws {
        guard let name = anyBatch() else { return }
        last = "cancel \(name)"
        let open = try await anyQueue().producer.cancel(.name(name))
        let foreseen = model.cancel(batch: name)
        expect(open == foreseen, "\(open) were open, not \(foreseen)")
        replaceClosed()
    }

    mutating func cancelJob() async throws {
        guard let job = anyJob() else { return }
        last = "cancel job \(job)"
        let answer = try await anyQueue().producer.cancel(job: job)
        let foreseen = model.cancel(job: job)
        expect(answer.rawValue == foreseen, "\(answer), not \(foreseen)")
    }

    mutating func seal() async throws {
        guard let name = pick(names), model.batches[name] != nil else { return }
        last = "seal \(name)"
        model.batches[name]?.isSealed = true
        try await anyQueue().producer.seal(.name(name))
        // The name of a batch without open items would open the next run.
        guard model.batches[name].map({ $0.counts.open > 0 }) ?? false else { return replaceClosed() }
        let queue = anyQueue()
        let answer = try await code { () throws(QueueError) in
            _ = try await queue.producer.enqueue(EnqueueRequest(urls: ["http://a/1"], batch: name))
        }
        expect(answer == .batchClosed, "a sealed batch takes more")
        replaceClosed()
    }

    /// New names instead of those that take no more.
    mutating func replaceClosed() {
        for index in names.indices where model.batches[names[index]].map({ $0.isSealed }) ?? false {
            names[index] = "batch \(index) of step \(step)"
        }
    }

    mutating func reprioritize() async throws {
        guard let name = anyBatch() else { return }
        let priority = Int.random(in: 0...9, using: &random)
        last = "reprioritize \(name) to \(priority)"
        let queue = anyQueue()
        let answer: Result<Int, ModelRefusal>
        do throws(QueueError) {
            answer = .success(try await queue.producer.reprioritize(.name(name), to: priority))
        } catch {
            guard error.code == .batchClosed else { throw error }
            answer = .failure(ModelRefusal(code: error.code))
        }
        switch (answer, model.reprioritize(name, to: priority)) {
        case (.success(let moved), .success(let foreseen)): expect(moved == foreseen, "\(moved) jobs, not \(foreseen)")
        case (.failure, .failure): break
        case (_, let foreseen): expect(false, "\(answer), not \(foreseen)")
        }
    }

    mutating func discardFailed() async throws {
        guard let name = anyBatch() else { return }
        last = "drop \(name)"
        let items = try await anyQueue().producer.discardFailed(of: .name(name))
        let foreseen = model.discardFailed(of: name)
        expect(items == foreseen, "\(items) items, not \(foreseen)")
    }

    mutating func retryFailed() async throws {
        guard let name = anyBatch() else { return }
        last = "retry failed of \(name)"
        let records = model.retriable(of: name)
        let queue = anyQueue()
        guard let records else {
            let answer = try await code { () throws(QueueError) in
                _ = try await queue.producer.retryFailed(of: .name(name))
            }
            expect(answer == .batchClosed, "a cancelled batch is retried")
            return
        }
        let items = try await queue.producer.retryFailed(of: .name(name))
        let foreseen = model.reopen(records, numbers: try await numbers(of: name))
        expect(items == foreseen, "\(items) items, not \(foreseen)")
    }

    mutating func retryJob() async throws {
        guard let job = anyJob() else { return }
        last = "retry job \(job)"
        let queue = anyQueue()
        switch model.retry(job: job) {
        case .stands(let number):
            expect(try await queue.producer.retry(job: job) == number, "another job than \(number)")
        case .refused(let code):
            let answer = try await self.code { () throws(QueueError) in _ = try await queue.producer.retry(job: job) }
            expect(answer == code, "\(String(describing: answer)), not \(code)")
        case .reopens(let record):
            let failure = model.failures[record]
            let number = try await queue.producer.retry(job: job)
            if let live = model.live[failure.key] { expect(number == live, "\(number), not \(live)") }
            _ = model.reopen([record], numbers: [failure.key: number])
        }
    }

    /// The live jobs of a batch, by what they are.
    private func numbers(of batch: String) async throws -> [QueueModel.Key: Int64] {
        let rows = try await fixture.sql(
            """
            SELECT j.id, j.url, p.name FROM larder_data.job j JOIN larder_data.pipeline p ON p.id = j.pipeline_id
            JOIN larder_data.batch b ON b.id = j.batch_id WHERE b.name = $1
            """, [.text(batch)])
        var numbers: [QueueModel.Key: Int64] = [:]
        for row in rows {
            guard let id = row[0].flatMap({ Int64($0) }), let url = row[1], let pipeline = row[2] else { continue }
            numbers[QueueModel.Key(url: url, pipeline: pipeline)] = id
        }
        return numbers
    }

    mutating func blockOrUnblock() async throws {
        if chance(40), let url = pick(urls().filter { $0.hasPrefix("http") }) {
            last = "block \(url)"
            model.operatorBlocked.insert(url)
            try await anyQueue().operations.block([url])
        } else if let url = pick(model.blocked.union(model.operatorBlocked).sorted()) {
            last = "unblock \(url)"
            model.blocked.remove(url)
            model.operatorBlocked.remove(url)
            expect(try await anyQueue().operations.unblock(url), "it was not blocked")
        }
    }

    /// Holds an origin, as an operator or a worker would, or clears all holds.
    mutating func holdOrClearOrigins() async throws {
        let origin = "http://host\(Int.random(in: 0..<5, using: &random))/"
        if model.heldOrigins.isEmpty ? chance(40) : chance(15) {
            last = "hold \(origin)"
            model.heldOrigins.insert(origin)
            if chance(50) {
                try await anyQueue().operations.holdOrigin(origin, for: .seconds(86_400))
            } else {
                try await anyQueue().workers.report([
                    OriginReport(origin: origin.dropLast() + ":80", .held(.seconds(3_000)))
                ])
            }
        } else {
            last = "clear origins"
            let foreseen = model.heldOrigins.count
            model.heldOrigins = []
            let held = try await anyQueue().operations.clearOrigin()
            expect(held == foreseen, "\(held) were held, not \(foreseen)")
        }
    }

    /// A session that the server ends after the work and before the commit leaves no trace.
    mutating func breakOff() async throws {
        guard let name = pick(names), let worker = pick(workers)?.session else { return }
        let (statement, parameters): (String, [Parameter]) =
            switch Int.random(in: 0..<7, using: &random) {
            case 0: (Self.enqueueStatement, Self.parameters(urls(), name, QueueModel.EnqueueOptions()))
            case 1:
                (
                    Self.claimStatement,
                    [
                        .integer(worker.id), .integer(1_000_000), .integer(5), .integer(0), .integer(0),
                        .text(chance(50) ? name : nil),
                    ]
                )
            case 2:
                (
                    "SELECT larder.release_v1($1, ARRAY(SELECT job_id FROM larder_data.running), ARRAY(SELECT claim_no FROM larder_data.running))",
                    [.integer(worker.id)]
                )
            case 3:
                (
                    """
                    SELECT larder.complete_v1(worker_id,
                        json_agg(json_build_object('job', job_id, 'claim', claim_no, 'result', 'succeeded')))
                    FROM larder_data.running GROUP BY worker_id
                    """, []
                )
            case 4: ("SELECT larder.batch_cancel(id::text) FROM larder_data.batch", [])
            case 5:
                ("SELECT larder.batch_retry_portion(id::text) FROM larder_data.batch WHERE cancelled_at IS NULL", [])
            default: ("SELECT larder.maintain(true)", [])
            }
        last = "break off \(statement)"
        _ = try await victim.rows("BEGIN")
        do { _ = try await victim.rows(statement, parameters) } catch {
            // SERIALIZABLE, while a session that was just ended still conflicts.
            guard error.sqlState == "40001" else { throw error }
            return await victim.close()
        }
        let process = try await victim.rows("SELECT pg_backend_pid()").first?.first ?? nil
        let ended = try await fixture.value("SELECT pg_terminate_backend($1::int, 10000)", [.text(process)])
        expect(ended == "t", "the session goes on")
        do {
            _ = try await victim.rows("COMMIT")
            // A broken session is found out before the statement is sent, on a new one: there is nothing to commit.
        } catch { expect(error.isTransient, "\(error)") }
        await victim.close()
    }

    /// An answer that is lost when the session breaks while the statement runs, or just before or after.
    ///
    /// Idle sessions go along only now and then: each new one costs the server its plans, and the life its time.
    mutating func loseAnswer() async throws {
        last = "lose an answer"
        let fixture = fixture
        let killing = """
            SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
                \(chance(30) ? "" : "AND state <> 'idle'")
            """
        guard chance(50) else {
            async let killed = fixture.value(killing)
            try await complete(outcomes(), times: 1)
            _ = try await killed
            return
        }
        let index = Int.random(in: 0..<workers.count, using: &random)
        workers[index].claims += 1
        async let killed = fixture.value(killing)
        try await claim(index, workers[index].claims, 5, after: 0, of: nil, times: 1)
        _ = try await killed
    }
}
