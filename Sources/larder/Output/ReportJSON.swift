import ImageModel
import JobQueue

/// A batch's report as one JSON object, and its progress as `status --json` prints it.
struct ReportJSON: Encodable {
    struct Failed: Encodable {
        let url: String
        let domain: String
        let code: Int
        let message: String
        let attempts: Int

        init(_ record: FailureRecord) {
            url = ShownURL.text(record.url)
            let error = record.error
            domain = error.domain
            code = error.code
            message = error.message
            attempts = record.attempts
        }
    }

    struct Frequent: Encodable {
        let domain: String
        let code: Int
        let items: Int
    }

    let batch: String
    let batchID: Int64
    let state: String
    let openedAt: String
    let finishedAt: Nullable<String>
    let total: Int
    let finished: Int
    let skipped: Int
    let open: Int
    let succeeded: Int
    let failed: Int
    let cancelled: Int
    let fresh: Int
    let blocked: Int
    let invalid: Int
    let joined: Int
    let retries: Int
    let downloads: Int
    let variants: Int
    let bytesIn: Int
    let bytesOut: Int
    let percent: Double
    let seconds: Double
    let rate: Double
    let etaSeconds: Nullable<Double>
    let p50Ms: Nullable<Double>
    let p95Ms: Nullable<Double>
    let topErrors: [Frequent]
    let failures: [Failed]?

    init(_ progress: BatchProgress, failures: [FailureRecord]? = nil) {
        batch = progress.called
        batchID = progress.id
        state = progress.state.rawValue
        openedAt = progress.openedAt
        finishedAt = Nullable(progress.finishedAt)
        total = progress.total
        finished = progress.finished
        skipped = progress.skipped
        open = progress.open
        succeeded = progress.succeeded
        failed = progress.failed
        cancelled = progress.cancelled
        fresh = progress.fresh
        blocked = progress.blocked
        invalid = progress.invalid
        joined = progress.joined
        retries = progress.retries
        downloads = progress.downloads
        variants = progress.variants
        bytesIn = progress.bytesIn
        bytesOut = progress.bytesOut
        percent = progress.percent
        seconds = progress.elapsed.seconds
        rate = progress.rate
        etaSeconds = Nullable(progress.eta?.seconds)
        p50Ms = Nullable(progress.p50)
        p95Ms = Nullable(progress.p95)
        topErrors = progress.topErrors.map { Frequent(domain: $0.domain, code: $0.code, items: $0.items) }
        self.failures = failures?.map(Failed.init)
    }
}
