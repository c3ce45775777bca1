package import Concurrency
package import DiskCache
package import JobQueue
import Transcoder

/// The batches of a report, and the location of their images.
package struct ReportSource {
    package let queue: PostgresJobQueue
    package let reports: [BatchReport]
    /// Nil if there is no cache.
    private let place: CachePlace?
    private let thumbnails: Int
    /// The time as given; nil for a report on one batch.
    private let since: String?

    /// A report on one batch.
    package init(_ report: BatchReport, in queue: PostgresJobQueue, _ place: CachePlace?, thumbnails: Int) {
        (self.queue, reports, self.place, self.thumbnails, since) = (queue, [report], place, thumbnails, nil)
    }

    /// A report on several batches.
    ///
    /// - Parameter since: the time as given.
    package init(
        _ reports: [BatchReport], in queue: PostgresJobQueue, _ place: CachePlace?, thumbnails: Int, since: String?
    ) {
        (self.queue, self.reports, self.place, self.thumbnails, self.since) = (queue, reports, place, thumbnails, since)
    }

    /// Maximum pictures of a page by default.
    package static let thumbnails = 1_000

    /// Whether BATCH is given instead of `--since`.
    package var isOfOneBatch: Bool { since == nil }

    /// Whether every batch is over and every item succeeded.
    package var isWell: Bool {
        reports.allSatisfy { $0.progress.isOver && $0.progress.open == 0 && $0.progress.skipped == 0 }
    }

    /// `Batch spring (7)`, or `Batches of the last 24h`.
    package var title: String {
        since.map { "Batches of the last \($0)" } ?? reports.first.map { "Batch \($0.progress.title)" } ?? ""
    }

    /// The batches' records, in order.
    package func forEachRecord(_ body: (BatchReport, StoredRecord) async throws -> Bool) async throws {
        for report in reports {
            for try await record in BatchRecords(of: report.progress.id, in: queue) {
                guard try await body(report, record) else { return }
            }
        }
    }

    var page: ReportPage { ReportPage(reports: reports, title: title) }

    /// Writes the HTML page in pieces: the counts, the images, the statistics, and the pictures as they are made.
    ///
    /// - Parameter isMailed: whether it has at most 5 MB, with as many of the images as fit.
    /// - Returns: the statistics.
    @discardableResult
    package func writePage(
        isMailed: Bool = false, to write: (String) async throws -> Void
    ) async throws -> ReportFindings {
        var size = 0
        func put(_ text: String) async throws {
            size += text.utf8.count
            try await write(text)
        }
        let page = page
        try await put(try page.head())
        var gallery = ReportGallery(maxBytes: isMailed ? ReportGallery.maxMailBytes : ReportGallery.maxFileBytes)
        try await forEachRecord { _, record in
            let isOpen = gallery.add(record)
            if gallery.hasWholePart, let part = gallery.takePart() { try await put(ReportPage.element("images", part)) }
            return isOpen
        }
        if let part = gallery.takePart() { try await put(ReportPage.element("images", part)) }
        let findings = ReportFindings(
            statistics: try await queue.reports.statistics(of: reports.map(\.progress.id)),
            previous: try await previous())
        try await put(try page.statistics(findings))
        if let place, thumbnails > 0, !gallery.items.isEmpty {
            let room = max(ReportPage.maxPictureBytes, ReportPage.maxBytes - size)
            let pool = TranscoderPool(configuration: TranscoderPool.Configuration())
            let items = gallery.items
            try await finally(pool.shutdown) {
                try await ReportPictures(place: place, pool: pool, limit: thumbnails, maxBytes: room).write(items) {
                    try await put(ReportPage.element("pictures", $0))
                }
            }
        }
        try await put(ReportPage.end)
        return findings
    }

    /// The statistics and the comparison with the previous run; nil if the login may not read them, as for a worker's.
    package func findings() async throws -> ReportFindings? {
        do throws(QueueError) {
            let statistics = try await queue.reports.statistics(of: reports.map(\.progress.id))
            return ReportFindings(statistics: statistics, previous: try await previous())
        } catch {
            guard error.isDenied else { throw error }
            return nil
        }
    }

    /// The previous run of the batch; nil if there is none or it has expired.
    private func previous() async throws(QueueError) -> PreviousRun? {
        guard since == nil, let progress = reports.first?.progress,
            let before = try await queue.previousRun(of: progress)
        else { return nil }
        return PreviousRun(
            progress: before, changes: try await queue.reports.comparison(of: progress.id, with: before.id))
    }
}

/// The cache whose files a report, page or command reads.
package struct CachePlace: Sendable {
    package let store: any ImageStore
    /// A directory cache's paths; nil for a bucket.
    package let paths: CacheLayout?
    /// Runs blocking file operations.
    package let disk = ThreadPool(name: "cache", threads: 1)

    package init(_ store: any ImageStore, paths: CacheLayout? = nil) { (self.store, self.paths) = (store, paths) }
}
