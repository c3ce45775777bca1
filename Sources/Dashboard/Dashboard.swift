import Concurrency
import Downloader
package import HTTPServer
import JobQueue
package import Reports
package import Telemetry
import Terminal
import Transcoder

/// The dashboard: pages, API, metrics and probes.
package struct Dashboard: Sendable {
    /// Nothing is loaded from other hosts. The hashes are for reports, which embed their script.
    private static let policy =
        "default-src 'none'; style-src 'self' '\(ReportPage.styleHash)'; "
        + "script-src 'self' '\(ReportPage.scriptHash)'; connect-src 'self'; img-src 'self' data: blob:; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    private static let headers = [
        (name: "Content-Security-Policy", value: policy), (name: "Referrer-Policy", value: "no-referrer"),
        (name: "X-Frame-Options", value: "DENY"),
    ]

    package let queues: DashboardQueues
    package let access: DashboardAccess
    /// The images' cache; nil if they are not shown.
    package let place: CachePlace?
    package let preview: DashboardPreview
    /// A report decodes images with one process per core.
    private let reporting = AsyncSemaphore(1)
    private let reports = FinishedReports()
    private let answers = DashboardAnswers()
    private let viewers = Locked(0)
    package let log: @Sendable (String) -> Void

    package init(
        queues: DashboardQueues, access: DashboardAccess, place: CachePlace?, preview: DashboardPreview,
        log: @escaping @Sendable (String) -> Void
    ) {
        self.queues = queues
        self.access = access
        self.place = place
        self.preview = preview
        self.log = log
    }

    /// Maximum body of a request. A preview's may contain a file, from a user who may request one.
    package func longestBody(of request: HTTPRequest) -> Int {
        guard request.path == DashboardPreview.path, access.permits(request) else {
            return HTTPEndpoint.longestBody
        }
        return DashboardPreview.longestBody
    }

    /// Answers a request. Database errors are answers too.
    package func answer(_ request: HTTPRequest) async -> HTTPAnswer {
        var answer = Self.protected(await unguarded(request)).compressed(for: request)
        // The pages show buttons only where these work.
        answer.headers.append(("Larder-Changes", access.allowsChanges ? "allowed" : "refused"))
        return answer
    }

    /// Adds headers that restrict the browser to the dashboard's own content.
    private static func protected(_ answer: HTTPAnswer) -> HTTPAnswer {
        var answer = answer
        answer.headers += headers.filter { own in !answer.headers.contains { $0.name == own.name } }
        return answer
    }

    private func unguarded(_ request: HTTPRequest) async -> HTTPAnswer {
        // Files without data, loaded before a user can give the token.
        if let file = DashboardFile.all[request.path] { return request.isReading ? file : .wrongMethod }
        if request.path == "/livez" { return HTTPAnswer(body: Array("alive\n".utf8)) }
        do {
            let user = try access.user(of: request)
            switch request.path {
            case "/readyz":
                try await queues.probes.checkReady()
                return HTTPAnswer(body: Array("ready\n".utf8))
            case "/metrics":
                let gauges = try await queues.reading { try await $0.reports.gauges() }
                return metrics(gauges).answer(to: request)
            case DashboardPreview.path where request.method == "POST":
                return HTTPAnswer.json(200, try await preview.answer(request.body))
            case DashboardEvents.path where request.method == "GET": return try events(request)
            case DashboardFile.description.path:
                return HTTPAnswer(type: "application/json", body: Array(DashboardFile.description.text.utf8))
            case let path where path.hasPrefix("/cache/") && request.isReading:
                guard let place else { return .notFound }
                return try await DashboardCache(place).answer(request, key: String(path.dropFirst("/cache/".count)))
            case let path where path.hasPrefix("/batch/") && request.isReading:
                return try await image(request, path.dropFirst("/batch/".count))
            case let path where path.hasPrefix("/report/") && request.isReading:
                guard let batch = Int64(path.dropFirst("/report/".count)) else { return .notFound }
                return try await report(on: batch, request)
            default: return try await call(request, user)
            }
        } catch let refusal as DashboardAccess.Refusal {
            return HTTPAnswer.failure(refusal.status, .usage(refusal.message))
        } catch {
            return HTTPAnswer.failure(Self.status(of: error), CommandError(error))
        }
    }

    private func call(_ request: HTTPRequest, _ user: String?) async throws -> HTTPAnswer {
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard parts.starts(with: ["api", "v1"]) else { return .notFound }
        let path = Array(parts.dropFirst(2))
        let matches = DashboardRoute.all.compactMap { route in route.match(path).map { (route, $0) } }
        guard !matches.isEmpty else {
            return HTTPAnswer.failure(404, .usage("there is no \(PrintableText.text(request.path))"))
        }
        let method = request.method == "HEAD" ? "GET" : request.method
        guard let (route, number) = matches.first(where: { $0.0.method == method }) else {
            return HTTPAnswer.failure(405, .usage("use \(matches.map(\.0.method).joined(separator: " or "))"))
        }
        func call(_ queue: PostgresJobQueue) -> DashboardCall {
            DashboardCall(queue: queue, request: request, number: number, allowsChanges: access.allowsChanges)
        }
        guard !request.isReading else {
            return try await answers.answer(to: request, lasting: route.lasting) {
                try await queues.reading { HTTPAnswer.json(200, try await route.run(call($0))) }
            }
        }
        let queue = queues.changes
        try call(queue).checkBody()
        defer { answers.forget() }
        log("\(user ?? "a user of the dashboard") called \(request.method) \(request.path)")
        let target = try route.target(of: call(queue))
        let action = try await queue.operations.beginAction(actor: user, verb: route.verb, target: target)
        do {
            return HTTPAnswer.json(200, try await route.run(call(queue)))
        } catch {
            try? await queue.operations.failAction(action, CommandError(error).message)
            throw error
        }
    }

    /// The file of `NAME/VARIANT/JOB`; the original's variant is `original`. A name may contain slashes.
    private func image(_ request: HTTPRequest, _ path: Substring) async throws -> HTTPAnswer {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard let place, parts.count >= 3, let job = parts.last.flatMap({ Int64($0) }) else { return .notFound }
        let name = parts.dropLast(2).joined(separator: "/")
        let variant = String(parts[parts.count - 2])
        let image = try await queues.reading {
            try await $0.reports.image(of: .name(name), job: job, variant: variant == "original" ? nil : variant)
        }
        guard let image else { return .notFound }
        return try await DashboardCache(place).answer(request, key: image.key)
    }

    /// The event stream for the queries in the request.
    private func events(_ request: HTTPRequest) throws -> HTTPAnswer {
        let events = try DashboardEvents(request.arguments["paths"])
        guard let viewer = DashboardViewer(viewers, limit: DashboardEvents.streams) else {
            return HTTPAnswer.failure(503, .usage("\(DashboardEvents.streams) pages are open already"))
        }
        var answer = HTTPAnswer(type: "text/event-stream")
        answer.stream = { stream in
            await events.run(to: stream) { question in await read(question) }
            withExtendedLifetime(viewer) {}
        }
        return answer
    }

    /// Answers a query of a stream, whose user was authorized at its start.
    private func read(_ question: HTTPRequest) async -> HTTPAnswer {
        do { return try await call(question, nil) } catch {
            return HTTPAnswer.failure(Self.status(of: error), CommandError(error))
        }
    }

    /// The page of a batch's report, as `larder report --format html` writes it.
    private func report(on batch: Int64, _ request: HTTPRequest) async throws -> HTTPAnswer {
        let report = try await queues.slowReads.reports.summary(of: .id(batch))
        var answer = HTTPAnswer(type: "text/html; charset=utf-8")
        let isCompressed = request.acceptsGzip
        if isCompressed { answer.headers += HTTPAnswer.gzipHeaders }
        guard request.method != "HEAD" else { return answer }
        answer.stream = { stream in
            await stream.whileOpen { await write(report, isCompressed: isCompressed, to: stream) }
        }
        return answer
    }

    private func write(_ report: BatchReport, isCompressed: Bool, to stream: HTTPStream) async {
        guard await reporting.acquire() else { return }
        defer { reporting.release() }
        // Who waited for another viewer finds the report that this one made.
        if let page = reports.page(of: report, isCompressed: isCompressed) {
            _ = await stream.write(page)
            return
        }
        let encoder = isCompressed ? GzipEncoder() : nil
        var page: [UInt8] = []
        func send(_ text: String, isLast: Bool = false) async throws {
            let bytes = encoder?.encode(Array(text.utf8), isLast: isLast) ?? Array(text.utf8)
            if page.count <= FinishedReports.maxBytes { page += bytes }
            guard await stream.write(bytes) else { throw CancellationError() }
        }
        do {
            try await ReportSource(report, in: queues.slowReads, place, thumbnails: ReportSource.thumbnails)
                .writePage { try await send($0) }
            try await send("", isLast: true)
            reports.keep(page, of: report, isCompressed: isCompressed)
        } catch is CancellationError {
        } catch {
            try? await send(ReportPage.end(after: CommandError(error)), isLast: true)
        }
    }

    private func metrics(_ gauges: [QueueGauge]) -> MetricsPage {
        var page = MetricsPage()
        page.add("larder_build_info", .gauge, "The version of the program.", [([("version", Larder.version)], 1)])
        QueueMetrics(gauges).write(to: &page)
        ProcessMetrics().write(to: &page)
        return page
    }

    private static func status(of error: any Error) -> UInt32 {
        // An error of the preview's image.
        if error is FetchError || error is TranscodeError { return 422 }
        guard let error = error as? QueueError else {
            return (error as? CommandError)?.exit == .wrongUsage ? 400 : 500
        }
        if error.isDenied { return 403 }
        switch error.code {
        case .unknownBatch, .unknownJob, .unknownQueue, .unknownSchedule, .unknownPipeline: return 404
        case .batchClosed, .locked: return 409
        case .invalidArgument: return 400
        default: return error.isTransient ? 503 : 500
        }
    }
}

extension MetricsPage {
    /// In the format that the request asks for.
    package func answer(to request: HTTPRequest) -> HTTPAnswer {
        let format = Format(accept: request.headers["accept"])
        return HTTPAnswer(type: format.type, headers: [("Vary", "Accept")], body: Array(text(format).utf8))
    }
}

/// A place for one event stream, taken when its request is accepted and released with the last reference.
///
/// Not counted at the stream's start: concurrent requests would all find the last place free.
final class DashboardViewer: Sendable {
    private let count: Locked<Int>

    /// - Returns: nil if `count` has reached `limit`.
    init?(_ count: Locked<Int>, limit: Int) {
        let isFree = count.withLock { taken in
            guard taken < limit else { return false }
            taken += 1
            return true
        }
        guard isFree else { return nil }
        self.count = count
    }

    deinit { count.withLock { $0 -= 1 } }
}

/// The latest reports on finished batches, cached because making one decodes its pictures.
final class FinishedReports: Sendable {
    /// A report stays valid until its batch's failures are retried or discarded.
    private struct State: Hashable {
        let batch: Int64
        let isCompressed: Bool
        let finishedAt: String
        let counts: [Int]
    }

    /// Bytes of all kept reports; a larger one is not kept.
    static let maxBytes = 128 << 20

    private let kept = Locked<[State: [UInt8]]>([:])

    /// The kept report of a batch in this state.
    func page(of report: BatchReport, isCompressed: Bool) -> [UInt8]? {
        Self.state(of: report, isCompressed).flatMap { state in kept.withLock { $0[state] } }
    }

    /// Keeps the report of a finished batch.
    func keep(_ page: [UInt8], of report: BatchReport, isCompressed: Bool) {
        guard let state = Self.state(of: report, isCompressed), page.count <= Self.maxBytes else { return }
        kept.withLock { kept in
            if kept.values.reduce(page.count, { $0 + $1.count }) > Self.maxBytes { kept.removeAll() }
            kept[state] = page
        }
    }

    private static func state(of report: BatchReport, _ isCompressed: Bool) -> State? {
        let progress = report.progress
        guard progress.state == .finished, let finishedAt = progress.finishedAt else { return nil }
        return State(
            batch: progress.id, isCompressed: isCompressed, finishedAt: finishedAt,
            counts: [
                progress.total, progress.succeeded, progress.failed, progress.cancelled, progress.retries,
                report.discarded,
            ])
    }
}
