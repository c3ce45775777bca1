import Concurrency

/// Samples the counts of all batches: at each moment total = open + finished, and neither decreases.
actor ChaosSampler {
    private struct Counts {
        var total = 0
        var finished = 0
        var succeeded = 0
    }

    private let session: BenchSession
    private let prefix: String
    private let ledger: ChaosLedger
    private var counts: [Int: Counts] = [:]
    /// Succeeded items of finished batches, which are not read again.
    private var succeededBefore = 0
    private var lowest = 0
    private(set) var samples = 0
    nonisolated let openItems = Locked(0)

    init(url: String, prefix: String, ledger: ChaosLedger) {
        session = BenchSession(url)
        self.prefix = prefix
        self.ledger = ledger
    }

    /// Takes one sample; ignores database failures during a fault.
    func sample() async {
        let sent = ContinuousClock.now
        let text: String?
        do {
            text = try await session.execute(
                """
                SELECT string_agg(concat_ws(' ', batch_id, total, open, finished, succeeded + failed + cancelled,
                    succeeded, (state IN ('finished', 'cancelled'))::int), ',' ORDER BY batch_id)
                FROM larder.progress WHERE batch_id > \(lowest) AND batch LIKE '\(prefix)%'
                """)
        } catch {
            await session.close()
            if ledger.isDatabaseUndisturbed(since: sent) { ledger.violated("progress cannot be read: \(error)") }
            return
        }
        samples += 1
        var (open, isFirstPart) = (0, true)
        for row in (text ?? "").split(separator: ",") {
            let numbers = row.split(separator: " ").compactMap { Int($0) }
            guard numbers.count == 7 else { continue }
            let (id, before) = (numbers[0], counts[numbers[0]] ?? Counts())
            if numbers[1] != numbers[2] + numbers[3] || numbers[3] != numbers[4] {
                ledger.violated("batch \(id): total \(numbers[1]), open \(numbers[2]), finished \(numbers[3])")
            }
            if numbers[1] < before.total || numbers[3] < before.finished {
                ledger.violated(
                    "batch \(id): total fell from \(before.total) to \(numbers[1]) or finished from \(before.finished) to \(numbers[3])"
                )
            }
            counts[id] = Counts(total: numbers[1], finished: numbers[3], succeeded: numbers[5])
            open += numbers[2]
            isFirstPart = isFirstPart && numbers[6] == 1
            if isFirstPart {
                lowest = id
                succeededBefore += numbers[5]
                counts[id] = nil
            }
        }
        openItems.withLock { $0 = open }
        ledger.sampled(succeeded: succeededBefore + counts.values.reduce(0) { $0 + $1.succeeded }, sent: sent)
    }

    func close() async { await session.close() }
}
