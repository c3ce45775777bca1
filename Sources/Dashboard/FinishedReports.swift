import Concurrency
import JobQueue

/// The reports of finished batches that were made last: making one decodes its pictures.
final class FinishedReports: Sendable {
    /// A report stays right until failures of its batch are retried or discarded.
    private struct State: Hashable {
        let batch: Int64
        let finishedAt: String
        let counts: [Int]
    }

    /// Bytes of all kept reports; a larger one is not kept.
    private static let maxBytes = 128 << 20

    private let kept = Locked<[State: [UInt8]]>([:])

    /// The kept report of a batch in this state, else what `make` returns.
    func page(of report: BatchReport, _ make: () async throws -> [UInt8]) async throws -> [UInt8] {
        guard let state = Self.state(of: report) else { return try await make() }
        if let page = kept.withLock({ $0[state] }) { return page }
        let page = try await make()
        guard page.count <= Self.maxBytes else { return page }
        kept.withLock { kept in
            if kept.values.reduce(page.count, { $0 + $1.count }) > Self.maxBytes { kept.removeAll() }
            kept[state] = page
        }
        return page
    }

    private static func state(of report: BatchReport) -> State? {
        let progress = report.progress
        guard progress.state == .finished, let finishedAt = progress.finishedAt else { return nil }
        return State(
            batch: progress.id, finishedAt: finishedAt,
            counts: [
                progress.total, progress.succeeded, progress.failed, progress.cancelled, progress.retries,
                report.discarded,
            ])
    }
}
