import Concurrency
import FoundationEssentials
import Glibc
import ImageModel
import JobQueue
import Terminal

/// The end of a run: every batch is finished and has its items, every file of a succeeded job is present and intact,
/// and nothing is left behind.
struct ChaosAudit: Sendable {
    let database: ChaosDatabase
    let queue: PostgresJobQueue
    let place: ChaosPlace
    let load: ChaosLoad
    let ledger: ChaosLedger
    let prefix: String
    /// Time limit for all open items once no fault is active.
    static let drainLimit = Duration.seconds(180)

    /// Ends everything that a broken transaction left open, and waits until no item is open.
    func drain(_ openItems: @Sendable () -> Int) async throws {
        let session = BenchSession(database.url)
        for verb in ["cancel", "seal"] {
            let names = verb == "cancel" ? "\(prefix)operated-%" : "\(prefix)%"
            try await session.execute(
                """
                SELECT count(larder.batch_\(verb)(batch_id::text)) FROM larder.progress
                WHERE batch LIKE '\(names)' AND state IN ('open', 'paused')
                """)
        }
        let limit = ContinuousClock.now + Self.drainLimit
        // Two samples after the last batch was sealed.
        try await Task.sleep(for: .milliseconds(500))
        while openItems() > 0, .now < limit { try await Task.sleep(for: .milliseconds(100)) }
        if openItems() > 0 {
            let states = try await session.execute(
                """
                SELECT string_agg(concat_ws(' ', s.state, s.reason, s.n), ', ') FROM (
                    SELECT state, reason, count(*) AS n FROM larder_data.job j, larder.job_status(j.id)
                    GROUP BY state, reason) AS s
                """)
            ledger.violated("\(openItems()) items are open \(Self.drainLimit) after the last fault: \(states ?? "")")
        }
        await session.close()
    }

    /// Checks the queue's invariants, each batch, and each file.
    func audit() async throws -> Totals {
        for found in try await queue.reports.check() {
            ledger.violated("\(found.invariant): \(found.subject.map { "\($0): " } ?? "")\(found.detail)")
        }
        var totals = Totals()
        var checked: Set<String> = []
        let sizes = load.sizes
        for batch in try await batches() {
            let progress = try await queue.reports.progress(of: .id(batch), isDetailed: false)
            totals.items += progress.total
            totals.batches += 1
            let name = progress.name ?? ""
            if let size = sizes[name], size != progress.total {
                ledger.violated("batch \(name) has \(progress.total) items instead of \(size)")
            }
            for try await record in BatchRecords(of: batch, in: queue) {
                totals.jobs += 1
                switch record.outcome {
                case .succeeded:
                    for file in record.stored { try await check(file.path, of: record, name: file.name, &checked) }
                case .failed: judge(record, &totals)
                case .cancelled: totals.cancelled += record.items
                }
            }
        }
        totals.files = checked.count
        judgePoison(totals)
        return totals
    }

    struct Totals: Sendable {
        var batches = 0, items = 0, jobs = 0, files = 0, cancelled = 0
        /// Jobs that failed as poison, because two transcoders were killed with the image, or were blocked by such a
        /// failure.
        var poisoned = 0
        fileprivate var poison: Set<String> = [], blocked: Set<String> = []
    }

    private func batches() async throws -> [Int64] {
        let session = BenchSession(database.url)
        let text = try await session.execute(
            "SELECT string_agg(batch_id::text, ' ' ORDER BY batch_id) FROM larder.progress WHERE batch LIKE '\(prefix)%'"
        )
        await session.close()
        return (text ?? "").split(separator: " ").compactMap { Int64($0) }
    }

    /// Every image of the origin is good, so only killed transcoders explain a failure.
    private func judge(_ record: StoredRecord, _ totals: inout Totals) {
        let error = record.error
        switch error?.failureCode {
        case .poison: totals.poison.insert(record.url)
        case .blocked: totals.blocked.insert(record.url)
        default:
            return ledger.violated(
                "\(record.url) failed after \(record.attempts) attempts: "
                    + "\(error?.domain ?? "") \(error?.code ?? 0) \(error?.message ?? "")")
        }
        totals.poisoned += 1
    }

    /// Each poison image took two of the killed transcoders.
    private func judgePoison(_ totals: Totals) {
        let kills = ledger.rows.filter { $0.kind == .transcoderKill }.reduce(0) { $0 + $1.injected }
        if totals.poison.count > kills / 2 {
            ledger.violated("\(totals.poison.count) images failed as poison, and \(kills) transcoders were killed")
        }
        for url in totals.blocked.subtracting(totals.poison) {
            ledger.violated("\(url) is blocked, and did not fail as poison")
        }
    }

    private func check(
        _ path: String?, of record: StoredRecord, name: String?, _ checked: inout Set<String>
    ) async throws {
        guard let path else {
            return ledger.violated("\(record.url) succeeded without a file for \(name ?? "the original")")
        }
        guard checked.insert(path).inserted else { return }
        guard let bytes = await place.bytes(path) else {
            return ledger.violated("\(path) of \(record.url), which succeeded, is missing")
        }
        guard name == nil, let number = ChaosLoad.number(of: record.url) else { return }
        if bytes != ChaosImage.bytes(number, edition: ChaosImage.edition(of: bytes)) {
            ledger.violated("\(path) of \(record.url) has \(bytes.count) other bytes than the origin served")
        }
    }

    /// Decodes every cache file with `larder cache verify`, and searches for temporary files.
    func verifyCache(program: String) async throws {
        let thread = ThreadPool(name: "chaos-verify", threads: 1)
        let output = place.logs + "/verify.out"
        let code = try await thread.run { [place] () throws(any Error) in
            let file = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
            guard file >= 0 else { throw CommandError.file("write", output) }
            defer { close(file) }
            var child = try ChildProcess(
                program, ["cache", "verify", "--json", "--cache", place.cache], descriptors: [-1, file, -1])
            return child.wait()
        }
        let lines = try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n")
        for line in lines where line.contains("\"fault\":") { ledger.violated("cache verify: \(line)") }
        if code != .exited(0), !lines.contains(where: { $0.contains("\"fault\":") }) {
            ledger.violated("cache verify ended with \(code): \(lines.last ?? "")")
        }
        for name in try await place.temporaryFiles() { ledger.violated("the temporary file \(name) is left") }
    }
}
