import JobQueue
import Transcoder

/// The batches that a report is about, and where their images are.
struct ReportSource {
    let queue: PostgresJobQueue
    let reports: [BatchReport]
    /// Nil when there is no cache.
    private let place: CachePlace?
    private let thumbnails: Int
    /// The time as given; nil for a report on one batch.
    private let since: String?
    /// How the report names the database; nil unless it is one of several.
    let database: String?

    /// A report on one batch.
    init(_ report: BatchReport, in queue: PostgresJobQueue, _ place: CachePlace?, thumbnails: Int) {
        (self.queue, reports, self.place, self.thumbnails, since) = (queue, [report], place, thumbnails, nil)
        database = nil
    }

    /// Reads the counts of BATCH, or those of the batches of each database that were opened within `--since`.
    ///
    /// - Parameter calls: those on the databases, which have read the others when there was an error in one.
    static func all(_ arguments: Arguments, _ calls: inout DatabaseCalls) async throws -> [ReportSource] {
        if try arguments.duration("since") != nil {
            guard try arguments.operands().isEmpty else {
                throw CommandError.usage("report: BATCH and --since exclude each other")
            }
            return try await calls.each { try await ReportSource(arguments, $0) }
        }
        let name = try arguments.operand("BATCH or --since", of: "report")
        return [try await ReportSource(arguments, try await Settings(arguments).finding(name))]
    }

    private init(_ arguments: Arguments, _ settings: Settings) async throws {
        thumbnails = try arguments.number("thumbnails", in: 0...5_000) ?? Self.thumbnails
        since = try arguments.value("since")
        let age = try arguments.duration("since")
        let name = age == nil ? try arguments.operand("BATCH or --since", of: "report") : ""
        place = try CachePlace(ifPresent: arguments)
        (queue, database) = (try await settings.openQueue(), settings.label)
        var reports: [BatchReport] = []
        if let age {
            for batch in try await queue.batches(openedWithin: age) {
                reports.append(try await queue.report(on: .id(batch)))
            }
        } else {
            reports.append(try await queue.report(on: try await queue.batch(called: name)))
        }
        self.reports = reports
    }

    /// The most pictures of a page by default.
    static let thumbnails = 1_000

    /// Whether BATCH is given instead of `--since`.
    var isOfOneBatch: Bool { since == nil }

    /// Whether every batch is over and every item succeeded.
    var isWell: Bool {
        reports.allSatisfy { $0.progress.isOver && $0.progress.open == 0 && $0.progress.skipped == 0 }
    }

    /// `Batch spring (7)`, or `Batches of the last 24h`.
    var title: String {
        since.map { "Batches of the last \($0)" } ?? reports.first.map { "Batch \($0.progress.title)" } ?? ""
    }

    /// The records of the batches, in order.
    func forEachRecord(_ body: (BatchReport, StoredRecord) async throws -> Bool) async throws {
        for report in reports {
            for try await record in BatchRecords(of: report.progress.id, in: queue) {
                guard try await body(report, record) else { return }
            }
        }
    }

    /// The HTML page with its pictures.
    ///
    /// - Parameter isServed: whether `larder serve` answers with it, so that it can show the files of the cache.
    func page(isServed: Bool = false) async throws -> ReportPage {
        let statistics = try await queue.statistics(of: reports.map(\.progress.id))
        var gallery = ReportGallery()
        try await forEachRecord { _, record in try gallery.add(record) }
        var page = ReportPage(
            reports: reports, statistics: statistics, previous: try await previous(), title: title, gallery: gallery,
            isServed: isServed && place != nil)
        guard let place, thumbnails > 0, !gallery.items.isEmpty else { return page }
        // The notes get a little longer with the pictures.
        let room = ReportPage.maxBytes - (try page.text().utf8.count) - 1_000
        let pool = TranscoderPool(configuration: TranscoderPool.Configuration())
        let empty = gallery
        page.gallery = try await finally(pool.shutdown) {
            var filled = empty
            try await ReportPictures(place: place, pool: pool, limit: thumbnails, maxBytes: room).add(to: &filled)
            return filled
        }
        return page
    }

    /// The statistics, and the comparison with the run before; nil for a login that may not read what they need, as a
    /// worker's.
    func findings() async throws -> ReportFindings? {
        do throws(QueueError) {
            let statistics = try await queue.statistics(of: reports.map(\.progress.id))
            return ReportFindings(statistics: statistics, previous: try await previous())
        } catch {
            guard error.isDenied else { throw error }
            return nil
        }
    }

    /// The run before of a report on one batch; nil when there is none, or it is past its retention.
    private func previous() async throws(QueueError) -> PreviousRun? {
        guard since == nil, let progress = reports.first?.progress,
            let before = try await queue.previousRun(of: progress)
        else { return nil }
        return PreviousRun(
            progress: before, changes: try await queue.comparison(of: progress.id, with: before.id))
    }
}
