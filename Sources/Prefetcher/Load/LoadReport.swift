package import Downloader
public import ImageModel
internal import Transcoder

/// What a load did: what is in the cache now, what it cost, and what failed.
public struct LoadReport: Sendable {
    /// Time spent in each stage; zero for a stage that did not run.
    public struct Timing: Sendable, Equatable {
        /// Waiting for a free connection.
        public var connectionWait = Duration.zero
        /// Waiting for DNS.
        public var lookup = Duration.zero
        /// Downloading, with redirects, without these waits.
        public var fetch = Duration.zero
        /// Waiting for a free transcoder.
        public var transcoderWait = Duration.zero
        /// Decoding, transforming and encoding, without this wait.
        public var transcode = Duration.zero
        /// Committing the files.
        public var store = Duration.zero

        /// The waits and stages by their names in metrics, in the order of a load.
        package var stages: [(name: String, time: Duration)] {
            [
                ("dns", lookup), ("connection_wait", connectionWait), ("fetch", fetch),
                ("transcoder_wait", transcoderWait), ("transcode", transcode), ("store", store),
            ]
        }
    }

    /// What is in the cache: the original, then the variants in the pipeline's order, failed ones included.
    public var stored: [StoredFile] = []
    /// Downloaded bodies, 0 or 1.
    public var downloads = 0
    /// Downloaded bytes.
    public var bytesIn = 0
    /// Status of the last response; nil without a download.
    public var httpStatus: Int?
    /// `X-Robots-Tag` of the last response, escaped.
    public var robotsTag: String?
    /// The cached original was revalidated and has not changed (SDWebImage 5.21.5, SDWebImageErrorCacheNotModified).
    public var isUnchanged = false
    /// The time spent in each stage.
    public var timing = Timing()
    /// The steps, each stage before its parts; nil unless the request asks for them.
    package var steps: [LoadStep]?

    /// The report of a load that did nothing.
    public init() {}

    /// The failure of a variant, which fails the job; nil when every variant was made.
    ///
    /// The machine's own fault (501), error 403 of the store and the death of a transcoder (301) come first, since a
    /// retry may repair them. A limit that only a variant exceeds becomes 401, so that the URL is not blocked; the
    /// file's error keeps the limit's own code.
    public var failure: FailureReason? {
        let errors = stored.lazy.compactMap(\.error)
        guard
            let error = errors.first(where: \.isLocalFault) ?? errors.first(where: { $0.failureCode == .storeFailed })
                ?? errors.first(where: { $0.failureCode == .transcoderDied }) ?? errors.first
        else { return nil }
        guard (200..<300).contains(error.code) else { return error }
        var failure = FailureReason(.transformFailed, error.message)
        failure.needs = error.needs
        return failure
    }

    /// Variants that this load wrote.
    public var made: Int { stored.count { $0.name != nil && $0.isNew } }

    /// Variants of `made` that are copies of files that were made of the same bytes for another URL.
    public var reused: Int { stored.count { $0.origin == .reused } }

    /// Bytes of the files that this load wrote.
    public var bytesOut: Int { stored.reduce(0) { $0 + ($1.isNew ? $1.bytes ?? 0 : 0) } }
}

/// A part of a load with its times, for traces.
package struct LoadStep: Sendable {
    package enum Part: Sendable {
        case stage(LoadError.Stage)
        /// A request of the fetch.
        case hop(FetchHop)
        /// The decoding of the original, with the wait for the child's memory.
        case decode
        /// A variant by its name, and the code of its error.
        case variant(String, error: Int?)
    }

    package let part: Part
    package let start, end: ContinuousClock.Instant

    /// - Parameter end: now by default.
    init(_ part: Part, from start: ContinuousClock.Instant, to end: ContinuousClock.Instant = .now) {
        (self.part, self.start, self.end) = (part, start, end)
    }

    init(_ hop: FetchHop) { self.init(.hop(hop), from: hop.start, to: hop.end) }

    /// The decoding and the variants of a request to a child. A child draws one variant after another, so that each
    /// begins when the one before it ends.
    static func parts(of report: TranscodeReport, _ entries: [LoadPlan.Entry]) -> [LoadStep] {
        guard let times = report.times, let decoded = times.decoded else { return [] }
        var steps = [LoadStep(.decode, from: times.started, to: decoded)]
        var start = decoded
        let made = zip(zip(entries, report.variants), times.finished).compactMap { pair, end in end.map { (pair, $0) } }
        for ((entry, result), end) in made.sorted(by: { $0.1 < $1.1 }) {
            var code: Int?
            if case .failure(let error) = result { code = error.failure.code }
            steps.append(LoadStep(.variant(entry.variant.name, error: code), from: start, to: end))
            start = end
        }
        return steps
    }
}
