import Concurrency
import ImageModel
import Testing

@testable import JobQueue

/// One queue in one database, driven at random, and a model that must predict every answer.
struct RandomLife {
    struct Worker {
        let session: WorkerSession
        var claims: Int64 = 0
    }

    let fixture: QueueFixture
    /// Operations come over several connections.
    let queues: [PostgresJobQueue]
    /// Its session is broken off in mid transaction now and then.
    let victim: Connection
    let seed: UInt64
    var random: SeededGenerator
    var model = QueueModel()
    var workers: [Worker] = []
    /// The names that enqueue uses now.
    var names: [String] = []
    /// Claims that may still be completed, the newest last.
    var runs: [QueueModel.Run] = []
    /// The sessions of all workers there were.
    var sessions: [Int64: WorkerSession] = [:]
    var step = 0
    /// The steps so far, for the report of a failure.
    var last = ""
    /// The life ends with its first surprise: what follows would only repeat it.
    let isLost = Locked(false)

    init(seed: UInt64) async throws {
        let fixture = try await QueueFixture.make()
        self.fixture = fixture
        self.seed = seed
        random = SeededGenerator(seed: seed)
        queues = (0..<3).map { _ in PostgresJobQueue(fixture.patientConfiguration) }
        victim = fixture.otherConnection()
        // Nothing hangs on time: back-off is zero, and leases end when the test says so.
        try await fixture.sql("UPDATE larder_data.settings SET retry_base_ms = 0, lease_ms = 3600000")
        _ = try await fixture.queue.producer.setPipeline(name: "card", spec: #"{"variants":[]}"#)
        if seed % 4 == 0 {
            model.isNewestFirst = true
            try await fixture.sql("UPDATE larder_data.queue SET lifo = true")
        }
        names = (0..<4).map { "batch \($0)" }
        for index in 0..<4 { try await startWorker(index) }
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    mutating func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &random) }

    mutating func anyQueue() -> PostgresJobQueue { queues[Int.random(in: 0..<queues.count, using: &random)] }

    /// A batch there is, mostly one of the newer ones.
    mutating func anyBatch() -> String? {
        chance(70) ? pick(names.filter { model.batches[$0] != nil }) : pick(model.batches.keys.sorted().suffix(12))
    }

    /// A job, live or over.
    mutating func anyJob() -> Int64? {
        chance(70) ? pick(model.jobs.keys.sorted()) : pick(Array(model.history.keys.sorted().suffix(60)))
    }

    func expect(_ isAsForeseen: Bool, _ what: @autoclosure () -> String, _ location: SourceLocation = #_sourceLocation)
    {
        let isFirst = isLost.withLock { isLost in
            defer { isLost = isLost || !isAsForeseen }
            return !isLost
        }
        if !isAsForeseen && isFirst {
            Issue.record("seed \(seed), step \(step), \(last): \(what())", sourceLocation: location)
        }
    }

    /// Goes on with an error's code where the model expects one.
    func code(_ body: () async throws(QueueError) -> Void) async throws(QueueError) -> QueueError.Code? {
        do throws(QueueError) {
            try await body()
            return nil
        } catch {
            guard [.batchClosed, .unknownJob].contains(error.code) else { throw error }
            return error.code
        }
    }

    // MARK: Steps

    mutating func live(steps: Int) async throws {
        for _ in 0..<steps where !isLost.withLock({ $0 }) {
            step += 1
            try await act()
            if step % 250 == 0 { try await compare() }
        }
        try await compare()
        for queue in queues { await queue.close() }
        await victim.close()
    }

    mutating func act() async throws {
        let roll = Int.random(in: 0..<1_000, using: &random)
        switch roll {
        case 0..<190: try await enqueue()
        case 190..<400: try await claim()
        case 400..<690: try await complete()
        case 690..<725: try await release()
        case 725..<745: try await heartbeat()
        case 745..<760: try await lose()
        case 760..<800: try await maintain()
        case 800..<825: try await pauseOrResume()
        case 825..<832: try await cancelBatch()
        case 832..<857: try await cancelJob()
        case 857..<882: try await retryJob()
        case 882..<894: try await retryFailed()
        case 894..<899: try await discardFailed()
        case 899..<914: try await reprioritize()
        case 914..<934: try await blockOrUnblock()
        case 934..<942: try await seal()
        case 942..<950: try await pauseOrResumeQueue()
        case 950..<956: try await holdOrClearOrigins()
        case 956..<975: try await breakOff()
        default: try await loseAnswer()
        }
    }

    mutating func startWorker(_ index: Int) async throws {
        let worker = try await fixture.queue.workers.start(
            WorkerDescription(
                name: "w\(index)", host: "test", processID: 1, version: "1", slots: 8,
                cacheID: index < 2 ? "cache" : nil))
        if index < 2 { model.cachingWorkers.insert(worker.id) }
        sessions[worker.id] = worker
        if index < workers.count {
            workers[index] = Worker(session: worker)
        } else {
            workers.append(Worker(session: worker))
        }
    }

    mutating func urls() -> [String] {
        // URLs come again: their jobs may be live, over, blocked or fresh.
        let age = step / 600
        return (0..<Int.random(in: 1...6, using: &random)).map { _ in
            let number = Int.random(in: 0..<90, using: &random)
            return number == 0 ? "nothing" : "http://host\(number % 5)/\(age)/\(number)"
        }
    }

    mutating func enqueue() async throws {
        last = "enqueue"
        guard let name = pick(names) else { return }
        var options = QueueModel.EnqueueOptions()
        options.pipeline = chance(50) ? "card" : "original"
        options.priority = Int.random(in: 0...9, using: &random)
        options.maxAttempts = Int.random(in: 1...3, using: &random)
        options.isLate = chance(15)
        options.passesBlocklist = chance(15)
        options.asksFreshness = chance(20)
        let urls = urls()
        let rows = try await anyQueue().connection.query(
            Self.enqueueStatement, Self.parameters(urls, name, options), isReadCommitted: true
        ) { rows throws(QueueError) in rows.texts }
        expect(rows.count == urls.count, "\(rows.count) answers to \(urls.count) URLs")
        var made: Set<Int64> = []
        for (url, row) in zip(urls, rows) {
            let foreseen = model.enqueue(url, to: name, options, job: row[1].flatMap { Int64($0) }, made: &made)
            expect(row[0] == foreseen, "\(url) is \(row[0] ?? ""), not \(foreseen)")
        }
        try await fixture.foldJoins()
    }

    static let enqueueStatement = """
        SELECT answer, job_id FROM larder.enqueue_many($1, batch => $2, pipeline => $3, priority => $4::int, max_attempts => $5::int,
            at => now() + $6 * interval '1 s', options => $7::bigint, fresh_for => $8 * interval '1 s', cache_id => 'cache') ORDER BY ord
        """

    static func parameters(_ urls: [String], _ batch: String, _ options: QueueModel.EnqueueOptions) -> [Parameter] {
        [
            .texts(urls), .text(batch), .text(options.pipeline), .integer(Int64(options.priority)),
            .integer(Int64(options.maxAttempts)), .integer(options.isLate ? 10_000 : nil),
            .integer(options.passesBlocklist ? 1 : 0), .integer(options.asksFreshness ? 86_400 : nil),
        ]
    }

    static let claimStatement =
        """
        SELECT job_id, attempt FROM larder.claim_v1($1, $2, $3::int, after_job => $4, again => $5 = 1,
            only_batch => (SELECT p.batch FROM larder.progress p WHERE p.batch = $6))
        """

    mutating func claim() async throws {
        last = "claim"
        let index = Int.random(in: 0..<workers.count, using: &random)
        workers[index].claims += 1
        let number = workers[index].claims
        let most = chance(10) ? 100 : Int.random(in: 1...8, using: &random)
        let after = chance(20) ? pick(model.jobs.keys.sorted()) ?? 0 : 0
        let batch = chance(20) ? anyBatch() : nil
        try await claim(index, number, most, after: after, of: batch, times: chance(10) ? 2 : 1)
    }

    /// A claim, sent as often as if its answer had been lost in between.
    mutating func claim(
        _ index: Int, _ number: Int64, _ most: Int, after: Int64, of batch: String?, times: Int
    ) async throws {
        let id = workers[index].session.id
        try await readTurns()
        for time in 0..<times {
            let foreseen = model.claim(id, number, most: most, after: after, of: batch, again: time > 0)
            let rows = try await anyQueue().ask(
                Self.claimStatement,
                [
                    .integer(id), .integer(number), .integer(Int64(most)), .integer(after),
                    .integer(time > 0 ? 1 : 0), .text(batch),
                ]
            ) { rows throws(QueueError) in rows.texts }
            let got = rows.compactMap { $0[0].flatMap { Int64($0) } }
            if got != foreseen {
                let places = try await places(of: Set(got).symmetricDifference(foreseen).sorted(), worker: id, number)
                expect(false, "claimed \(got), not \(foreseen); \(places)")
            }
            for row in rows {
                guard let job = row[0].flatMap({ Int64($0) }), let known = model.jobs[job] else { continue }
                expect(row[1] == "\(known.attempt + 1)", "job \(job) is in attempt \(row[1] ?? "")")
            }
        }
        runs += model.held(by: id).compactMap {
            if case .running(let run) = $0.place, run.claim.number == number { run } else { nil }
        }.sorted { $0.claim.job < $1.claim.job }
        if runs.count > 80 { runs.removeFirst(runs.count - 80) }
    }

    /// Outcomes of one worker's runs, among them some that are over or were given to others.
    mutating func outcomes() -> [(QueueModel.Run, QueueModel.End, Outcome)] {
        guard let worker = pick(runs)?.worker else { return [] }
        let chosen = Set(
            runs.filter { $0.worker == worker }.shuffled(using: &random).prefix(Int.random(in: 1...5, using: &random)))
        return chosen.sorted { ($0.claim.job, $0.claim.number) < ($1.claim.job, $1.claim.number) }.map { run in
            let end = chance(45) ? .succeeded : QueueModel.End.allCases.randomElement(using: &random) ?? .succeeded
            return (run, end, end.outcome(run.claim, retryAfter: chance(20) ? .seconds(3_000) : nil))
        }
    }

    mutating func complete() async throws {
        last = "complete"
        try await complete(outcomes(), times: chance(10) ? 2 : 1)
    }

    /// Completes as often as if the answer had been lost in between; the last one is as the first.
    mutating func complete(_ outcomes: [(QueueModel.Run, QueueModel.End, Outcome)], times: Int) async throws {
        guard let worker = outcomes.first?.0.worker, let session = sessions[worker] else { return }
        let caller = WorkerSession(id: worker, lease: session.lease, queue: anyQueue())
        for _ in 0..<times {
            var foreseen: [Claim: String] = [:]
            // In one call successes go first, then the answers to claims that are not held, then failures.
            let held = outcomes.filter { model.jobs[$0.0.claim.job]?.place == .running($0.0) }
            let others = outcomes.filter { outcome in !held.contains { $0.0 == outcome.0 } }
            // A failure that blocks a URL wins over one that unblocks it.
            let failures = held.filter { $0.1 == .badVariant } + held.filter { !$0.1.isSuccess && $0.1 != .badVariant }
            for (run, end, outcome) in held.filter({ $0.1.isSuccess }) + others + failures {
                foreseen[run.claim] = model.complete(run, end, asksToWait: outcome.asksToWait)
            }
            for completion in try await caller.complete(outcomes.map(\.2)) {
                let answer = foreseen[completion.claim] ?? ""
                expect(completion.decision.name == answer, "\(completion) is not \(answer)")
            }
        }
    }

    mutating func compare() async throws {
        last = "compare"
        try await fixture.expectSound()
        let lines = try await fixture.sql(Self.linesStatement).compactMap { $0[0] }
        let foreseen = model.lines
        for (line, known) in zip(lines, foreseen) where line != known {
            expect(false, "the database has \(line), the model \(known)")
            break
        }
        expect(lines.count == foreseen.count, "\(lines.count) live jobs, not \(foreseen.count)")
        let progress = try await fixture.queue.reports.progress(limit: 10_000)
        expect(progress.count == model.batches.count, "\(progress.count) batches, not \(model.batches.count)")
        for batch in progress {
            let counts = QueueModel.Counts(
                total: batch.total, succeeded: batch.succeeded, failed: batch.failed, cancelled: batch.cancelled,
                fresh: batch.fresh, blocked: batch.blocked, invalid: batch.invalid, joined: batch.joined,
                retries: batch.retries)
            let known = model.batches[batch.name ?? ""]
            expect(counts == known?.counts, "\(batch.name ?? ""): \(counts), not \(String(describing: known?.counts))")
            expect(batch.total == batch.open + batch.finished, "\(batch.name ?? ""): items are lost")
        }
        let blocked = try await fixture.sql("SELECT url FROM larder.blocklist").compactMap { $0[0] }
        let foreseenBlocked = model.blocked.union(model.operatorBlocked)
        expect(Set(blocked) == foreseenBlocked, "\(blocked.count) URLs are blocked, not \(foreseenBlocked.count)")
        let over = try await fixture.value(
            """
            SELECT count(*) || ' ' || count(DISTINCT job_id) FROM larder_data.job_history
            WHERE NOT larder_data.is_item(job_id)
            """)
        expect(
            over == "\(model.history.count) \(model.history.count)", "\(over ?? "") records, not \(model.history.count)"
        )
        let finished = try await fixture.value("SELECT count(*) FROM larder_data.batch WHERE finished_at IS NOT NULL")
        expect(
            finished == "\(model.batches.values.count(where: \.isFinished))", "\(finished ?? "") batches are finished")
    }

    private static let linesStatement = """
        WITH items AS (
            SELECT j.id AS job_id, j.batch_id, j.items FROM larder_data.job j WHERE j.items > 0
            UNION ALL SELECT f.job_id, f.batch_id, f.items FROM larder_data.job_item f
        ), place AS (
            SELECT job_id, 'ready ' || lane % 10 AS at FROM larder_data.ready
            UNION ALL SELECT job_id, 'scheduled' FROM larder_data.scheduled
            UNION ALL SELECT job_id, 'running ' || worker_id || ' ' || claim_no FROM larder_data.running
            UNION ALL SELECT job_id, 'suspended ' || reason FROM larder_data.suspended
        )
        SELECT format('%s %s %s %s %s [%s] [%s] %s', j.id, j.priority, j.attempt, j.rescues, j.crashes, p.at, i.riding,
            CASE WHEN j.is_revived THEN 'revived' WHEN j.cancelled_at IS NOT NULL THEN 'requested' END)
        FROM larder_data.job j LEFT JOIN place p ON p.job_id = j.id
        LEFT JOIN LATERAL (
            SELECT string_agg(b.name || ':' || i.items, ',' ORDER BY (b.name || ':' || i.items) COLLATE "C") AS riding
            FROM (SELECT x.batch_id, sum(x.items) AS items FROM items x WHERE x.job_id = j.id GROUP BY x.batch_id) AS i
            JOIN larder_data.batch b ON b.id = i.batch_id) AS i ON true
        ORDER BY j.id
        """
}

extension QueueModel.End {
    func outcome(_ claim: Claim, retryAfter: Duration?) -> Outcome {
        func failed(_ domain: String, _ code: Int, status: Int? = nil) -> Outcome {
            var outcome = Outcome(
                claim, .failed(FailureReason(domain: domain, code: code, message: "\(self)"), retryAfter: retryAfter))
            outcome.httpStatus = status
            return outcome
        }
        switch self {
        case .succeeded:
            var outcome = Outcome(claim, .succeeded)
            outcome.downloads = 1
            outcome.stored = [StoredFile(key: "key", path: "default/file")]
            return outcome
        case .foundInCache: return Outcome(claim, .succeeded)
        case .cancelled: return Outcome(claim, .cancelled)
        case .unavailable: return failed("SDWebImageErrorDomain", 2001, status: 503)
        case .missing: return failed("SDWebImageErrorDomain", 2001, status: 404)
        case .notAnImage: return failed("SDWebImageErrorDomain", 1001)
        case .transcoderDied: return failed("LarderErrorDomain", 301)
        case .handshake: return failed("NSURLErrorDomain", -1200)
        case .tooLarge: return failed("LarderErrorDomain", 201)
        case .badVariant:
            var outcome = failed("LarderErrorDomain", 401)
            outcome.downloads = 1
            return outcome
        }
    }
}

extension Outcome {
    var asksToWait: Bool { if case .failed(_, let retryAfter?) = result { retryAfter > .zero } else { false } }
}

extension Decision {
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
