package import Downloader
public import ImageModel
internal import Transcoder

/// The result of a load: cached files, cost, failures.
public struct LoadReport: Sendable {
    /// Time spent in each stage; zero if the stage did not run.
    public struct Timing: Sendable, Equatable {
        /// Waiting for a free connection.
        public var connectionWait = Duration.zero
        /// Waiting for DNS.
        public var lookup = Duration.zero
        /// Downloading, including redirects, without these waits.
        public var fetch = Duration.zero
        /// Waiting for a free transcoder.
        public var transcoderWait = Duration.zero
        /// Decoding, transforming and encoding, without the wait.
        public var transcode = Duration.zero
        /// Committing the files.
        public var store = Duration.zero

        /// Waits and stages by their metric names, in load order.
        package var stages: [(name: String, time: Duration)] {
            [
                ("dns", lookup), ("connection_wait", connectionWait), ("fetch", fetch),
                ("transcoder_wait", transcoderWait), ("transcode", transcode), ("store", store),
            ]
        }
    }

    /// Files in the cache: the original, then the variants in the pipeline's order, including failed ones.
    public var stored: [StoredFile] = []
    /// Downloaded bodies, 0 or 1.
    public var downloads = 0
    /// Downloaded bytes.
    public var bytesIn = 0
    /// Status of the last response; nil without a download.
    public var httpStatus: Int?
    /// `X-Robots-Tag` of the last response, escaped.
    public var robotsTag: String?
    /// The cached original was revalidated as current (SDWebImage 5.21.5, SDWebImageErrorCacheNotModified).
    public var isUnchanged = false
    /// The time spent in each stage.
    public var timing = Timing()
    /// The steps, each stage before its parts; nil unless requested.
    package var steps: [LoadStep]?

    /// An empty report.
    public init() {}

    /// The variant failure that fails the job; nil if every variant was made.
    ///
    /// This machine's fault (501), the store's error 403 and a transcoder crash (301) come first, since a retry may
    /// help. A limit exceeded only by a variant becomes 401, so that the URL is not blocked; the file's error keeps the
    /// limit's code.
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

    /// Variants written by this load.
    public var made: Int { stored.count { $0.name != nil && $0.isNew } }

    /// Variants in `made` that were copied from files made from the same bytes under another URL.
    public var reused: Int { stored.count { $0.origin == .reused } }

    /// Bytes of the files written by this load.
    public var bytesOut: Int { stored.reduce(0) { $0 + ($1.isNew ? $1.bytes ?? 0 : 0) } }
}

/// A part of a load with its times, for traces.
package struct LoadStep: Sendable {
    package enum Part: Sendable {
        case stage(LoadError.Stage)
        /// A request of the fetch.
        case hop(FetchHop)
        /// Decoding the original, including the wait for the child's memory.
        case decode
        /// A variant's name, and its error code.
        case variant(String, error: Int?)
    }

    package let part: Part
    package let start, end: ContinuousClock.Instant

    /// - Parameter end: now by default.
    init(_ part: Part, from start: ContinuousClock.Instant, to end: ContinuousClock.Instant = .now) {
        (self.part, self.start, self.end) = (part, start, end)
    }

    init(_ hop: FetchHop) { self.init(.hop(hop), from: hop.start, to: hop.end) }

    /// Decoding and variants of one child request. A child draws the variants one after another, so each begins when
    /// the previous one ends.
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
