/// What the records of batches add to their counts: times, sizes, origins and causes of failures.
package struct BatchStatistics: Sendable, Decodable {
    /// How many records there are, with the records of items without a job; at most the limit of the question. In a
    /// sample how many jobs were looked at; the parts from `retries` on are empty there.
    package let records: Int
    /// When the first of the jobs ended: ISO 8601 in UTC; nil without one.
    package let startedAt: String?
    /// The items that ended in each slot of time, oldest first; a slot without any is left out.
    package let timeline: [TimelineSlot]
    /// The length of a slot in ms, at least 100, up to half a day a round number. There are at most 61 slots.
    package let slotMilliseconds: Int
    /// The stages of the jobs that succeeded, in their order: `wait`, `dns`, `connection_wait`,
    /// `fetch`, `transcoder_wait`, `transcode`, `store`.
    package let stages: [StageTimes]
    /// The origins with the most failures, then with the most items; at most 20.
    package let origins: [OriginCount]
    /// How many origins there are.
    package let originCount: Int
    /// The jobs that took longest, at most ten.
    package let slowest: [SlowJob]
    /// The largest originals that were downloaded, at most ten.
    package let largest: [LargeOriginal]
    /// The files by variant, the originals not included; at most 50 variants.
    package let variants: [VariantSize]
    /// The errors of attempts that were retried, most frequent first, at most ten.
    package let retries: [ErrorCount]
    /// The failures by cause, most frequent first, at most 50.
    package let causes: [FailureCause]
    /// The pipelines that the jobs used, at most ten.
    package let pipelines: [UsedPipeline]
    /// The URLs that failures of these batches blocked and that are blocked still; the first ten.
    package let blocks: [Block]
    /// How many they are.
    package let blockCount: Int
    /// The options of the jobs, most frequent first, at most ten.
    package let options: [UsedOptions]
    /// The workers that ran the last attempts within the last day; at most ten.
    package let workers: [UsedWorker]

    /// The items that ended in a slot of time.
    package struct TimelineSlot: Sendable, Decodable {
        /// The slot, from 0.
        package let slot: Int
        /// Items that succeeded.
        package let succeeded: Int
        /// Items that failed or were cancelled.
        package let skipped: Int
        /// The mean times of the jobs that succeeded, in ms: all waits together, and the other stages.
        package let wait, fetch, transcode, store: Int
    }

    /// Quantiles of the time of a stage, in ms.
    package struct StageTimes: Sendable, Decodable {
        /// The stage's name.
        package let stage: String
        /// Quantiles; nil when no job had the stage.
        package let p50, p95, p99: Int?
    }

    /// What came from an origin.
    package struct OriginCount: Sendable, Decodable {
        /// Scheme, host and port.
        package let origin: String
        /// Items that ended, and how many of them failed.
        package let items, failed: Int
        /// Body bytes received.
        package let bytesIn: Int
        /// The median time of a download in ms; nil without one.
        package let fetchMs: Int?
    }

    /// A job and the times of its stages in ms.
    package struct SlowJob: Sendable, Decodable {
        /// The URL as given.
        package let url: String
        /// All waits together, and the other stages.
        package let wait, fetch, transcode, store: Int
    }

    /// A downloaded original.
    package struct LargeOriginal: Sendable, Decodable {
        /// The URL as given.
        package let url: String
        /// Its size.
        package let bytes: Int
    }

    /// The files of a variant.
    package struct VariantSize: Sendable, Decodable {
        /// The variant's name.
        package let name: String
        /// How many files there are, and how many of them these batches made; the cache had the others.
        package let files, made: Int
        /// Of all files.
        package let bytes: Int
        /// The bytes of the originals they were made of.
        package let originals: Int
    }

    /// Failures of one kind.
    package struct FailureCause: Sendable, Decodable {
        /// The error.
        package let domain: String, code: Int
        /// The response's status for error 2001.
        package let status: Int?
        /// The message of the first of them.
        package let message: String
        /// Items that failed so, and the origins they are from; items without a job have none.
        package let items, origins: Int
        /// The first URLs, at most five.
        package let examples: [String]
        /// The origins with the most of them, at most five.
        package let byOrigin: [Origin]

        /// Failures of one kind from an origin.
        package struct Origin: Sendable, Decodable {
            /// Scheme, host and port.
            package let origin: String
            /// Items.
            package let items: Int
        }
    }

    /// A URL that a failure blocked.
    package struct Block: Sendable, Decodable {
        /// The URL as given.
        package let url: String
        /// The error.
        package let domain: String, code: Int
        /// Failures in a row that blocked it.
        package let fails: Int
        /// The end of the block: ISO 8601 in UTC.
        package let until: String
    }

    /// Options of jobs.
    package struct UsedOptions: Sendable, Decodable {
        /// SDWebImage's bits.
        package let options: Int
        /// Items of jobs with them.
        package let items: Int
    }

    /// A worker that ran jobs.
    package struct UsedWorker: Sendable, Decodable {
        /// Its name and host, and the version of the program.
        package let name, host, version: String
        /// Its slots, and the jobs that it ended.
        package let slots, jobs: Int
    }

    /// A pipeline as the jobs used it.
    package struct UsedPipeline: Sendable, Decodable {
        /// Its name and version.
        package let name: String, version: Int
        /// Its JSON.
        package let spec: String
    }
}
