/// What the records of batches add to their counts: times, sizes, origins and causes of failures.
public struct BatchStatistics: Sendable, Decodable {
    /// How many records there are, those of items without a job included; at most the limit of the question.
    public let records: Int
    /// When the first of the jobs ended: ISO 8601 in UTC; nil without one.
    public let startedAt: String?
    /// The items that ended in each slot of time, oldest first; a slot without any is left out.
    public let timeline: [TimelineSlot]
    /// The length of a slot in ms, at least 100, up to half a day a round number. There are at most 61 slots.
    public let slotMilliseconds: Int
    /// The stages of the jobs that succeeded, in their order: `wait`, `fetch`, `transcode`, `store`.
    public let stages: [StageTimes]
    /// The origins with the most failures, then with the most items; at most 20.
    public let origins: [OriginCount]
    /// How many origins there are.
    public let originCount: Int
    /// The jobs that took longest, at most ten.
    public let slowest: [SlowJob]
    /// The largest originals that were downloaded, at most ten.
    public let largest: [LargeOriginal]
    /// The files by variant, the originals not included; at most 50 variants.
    public let variants: [VariantSize]
    /// The errors of attempts that were retried, most frequent first, at most ten.
    public let retries: [ErrorCount]
    /// The failures by cause, most frequent first, at most 50.
    public let causes: [FailureCause]
    /// The pipelines that the jobs used, at most ten.
    public let pipelines: [UsedPipeline]
    /// The URLs that failures of these batches blocked and that are blocked still; the first ten.
    public let blocks: [Block]
    /// How many they are.
    public let blockCount: Int
    /// The options of the jobs, most frequent first, at most ten.
    public let options: [UsedOptions]
    /// The workers that ran the last attempts, of those of the last day; at most ten.
    public let workers: [UsedWorker]

    /// The items that ended in a slot of time.
    public struct TimelineSlot: Sendable, Decodable {
        /// The slot, from 0.
        public let slot: Int
        /// Items that succeeded.
        public let succeeded: Int
        /// Items that failed or were cancelled.
        public let skipped: Int
        /// The mean times of the stages of the jobs that succeeded, in ms.
        public let wait, fetch, transcode, store: Int
    }

    /// Quantiles of the time of a stage, in ms.
    public struct StageTimes: Sendable, Decodable {
        /// The stage's name.
        public let stage: String
        /// Quantiles; nil when no job had the stage.
        public let p50, p95, p99: Int?
    }

    /// What came from an origin.
    public struct OriginCount: Sendable, Decodable {
        /// Scheme, host and port.
        public let origin: String
        /// Items that ended, and those of them that failed.
        public let items, failed: Int
        /// Body bytes received.
        public let bytesIn: Int
        /// The median time of a download in ms; nil without one.
        public let fetchMs: Int?
    }

    /// A job and the times of its stages in ms.
    public struct SlowJob: Sendable, Decodable {
        /// The URL as given.
        public let url: String
        /// From claim to fetch, and the stages.
        public let wait, fetch, transcode, store: Int
    }

    /// A downloaded original.
    public struct LargeOriginal: Sendable, Decodable {
        /// The URL as given.
        public let url: String
        /// Its size.
        public let bytes: Int
    }

    /// The files of a variant.
    public struct VariantSize: Sendable, Decodable {
        /// The variant's name.
        public let name: String
        /// How many files there are, and how many of them these batches made; the cache had the others.
        public let files, made: Int
        /// Of all files.
        public let bytes: Int
        /// The bytes of the originals they were made of.
        public let originals: Int
    }

    /// Failures of one kind.
    public struct FailureCause: Sendable, Decodable {
        /// The error.
        public let domain: String, code: Int
        /// The response's status for error 2001.
        public let status: Int?
        /// The message of the first of them.
        public let message: String
        /// Items that failed so, and the origins they are from; items without a job have none.
        public let items, origins: Int
        /// The first URLs, at most five.
        public let examples: [String]
        /// The origins with the most of them, at most five.
        public let byOrigin: [Origin]

        /// Failures of one kind from an origin.
        public struct Origin: Sendable, Decodable {
            /// Scheme, host and port.
            public let origin: String
            /// Items.
            public let items: Int
        }
    }

    /// A URL that a failure blocked.
    public struct Block: Sendable, Decodable {
        /// The URL as given.
        public let url: String
        /// The error.
        public let domain: String, code: Int
        /// Failures in a row that blocked it.
        public let fails: Int
        /// The end of the block: ISO 8601 in UTC.
        public let until: String
    }

    /// Options of jobs.
    public struct UsedOptions: Sendable, Decodable {
        /// SDWebImage's bits.
        public let options: Int
        /// Items of jobs with them.
        public let items: Int
    }

    /// A worker that ran jobs.
    public struct UsedWorker: Sendable, Decodable {
        /// Its name and host, and the version of the program.
        public let name, host, version: String
        /// Its slots, and the jobs that it ended.
        public let slots, jobs: Int
    }

    /// A pipeline as the jobs used it.
    public struct UsedPipeline: Sendable, Decodable {
        /// Its name and version.
        public let name: String, version: Int
        /// Its JSON.
        public let spec: String
    }
}
