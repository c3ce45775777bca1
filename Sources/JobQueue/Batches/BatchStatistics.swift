/// Times, sizes, origins and failure causes of batches, from their records.
package struct BatchStatistics: Sendable, Decodable {
    /// Records, including items without a job, up to the query's limit. In a sample the number of jobs read; the fields
    /// from `retries` on are then empty.
    package let records: Int
    package let startedAt: String?
    /// Ended items per time slot, oldest first, without empty slots.
    package let timeline: [TimelineSlot]
    /// Length of a slot in ms, at least 100, a round number up to half a day. At most 61 slots.
    package let slotMilliseconds: Int
    /// The stages of succeeded jobs in order: `wait`, `dns`, `connection_wait`, `fetch`, `transcoder_wait`,
    /// `transcode`, `store`.
    package let stages: [StageTimes]
    /// The origins with the most failures, then with the most items; at most 20.
    package let origins: [OriginCount]
    package let originCount: Int
    /// The slowest jobs, at most ten.
    package let slowest: [SlowJob]
    /// The largest downloaded originals, at most ten.
    package let largest: [LargeOriginal]
    /// Files by variant, without originals; at most 50 variants.
    package let variants: [VariantSize]
    /// Files by format, most frequent first, at most 20 formats.
    package let formats: [FormatSize]
    /// Errors of retried attempts, most frequent first, at most ten.
    package let retries: [ErrorCount]
    /// Failures by cause, most frequent first, at most 50.
    package let causes: [FailureCause]
    /// At most ten.
    package let pipelines: [UsedPipeline]
    /// URLs blocked by failures of these batches and still blocked; the first ten.
    package let blocks: [Block]
    package let blockCount: Int
    /// Job options, most frequent first, at most ten.
    package let options: [UsedOptions]
    /// Workers that ran the last attempts within the last day; at most ten.
    package let workers: [UsedWorker]

    /// Items that ended in one time slot.
    package struct TimelineSlot: Sendable, Decodable {
        /// From 0.
        package let slot: Int
        package let succeeded: Int
        /// Failed and cancelled items.
        package let skipped: Int
        /// Mean times of succeeded jobs in ms; `wait` is the sum of all waits.
        package let wait, fetch, transcode, store: Int
    }

    /// Quantiles of a stage's time in ms.
    package struct StageTimes: Sendable, Decodable {
        package let stage: String
        /// Nil if no job had the stage.
        package let p50, p95, p99: Int?
    }

    package struct OriginCount: Sendable, Decodable {
        package let origin: String
        /// Ended items, and how many of them failed.
        package let items, failed: Int
        /// Body bytes received.
        package let bytesIn: Int
        /// Median download time in ms; nil without one.
        package let fetchMs: Int?
        /// The mean times of the jobs that succeeded, as in `TimelineSlot`.
        package let wait, fetch, transcode, store: Int
    }

    /// A job with the times of its stages in ms.
    package struct SlowJob: Sendable, Decodable {
        package let url: String
        /// `wait` is the sum of all waits.
        package let wait, fetch, transcode, store: Int
    }

    package struct LargeOriginal: Sendable, Decodable {
        package let url: String
        package let bytes: Int
    }

    /// The files of one variant.
    package struct VariantSize: Sendable, Decodable {
        package let name: String
        /// All files, and those that these batches made; the others came from the cache.
        package let files, made: Int
        /// Bytes of all files.
        package let bytes: Int
        /// Bytes of their originals.
        package let originals: Int
        /// The budget in bytes, the highest one if pipelines differ; nil for none.
        package let budget: Int?
        /// How many files are larger than their own pipeline's budget.
        package let overBudget: Int
    }

    /// The files of a format, `unknown` where it was not recorded.
    package struct FormatSize: Sendable, Decodable {
        /// Its name.
        package let format: String
        /// How many originals have it, and how many variants.
        package let originals, variants: Int
        /// Their bytes.
        package let originalBytes, variantBytes: Int
    }

    /// Failures with the same error.
    package struct FailureCause: Sendable, Decodable {
        package let domain: String, code: Int
        /// The HTTP status for error 2001.
        package let status: Int?
        /// The message of the first failure.
        package let message: String
        /// Failed items, and their origins; items without a job have no origin.
        package let items, origins: Int
        /// The first URLs, at most five.
        package let examples: [String]
        /// The origins with the most of these failures, at most five.
        package let byOrigin: [Origin]

        /// Failures of one cause from one origin.
        package struct Origin: Sendable, Decodable {
            package let origin: String
            package let items: Int
        }
    }

    /// A URL blocked by failures.
    package struct Block: Sendable, Decodable {
        package let url: String
        package let domain: String, code: Int
        package let fails: Int
        package let until: String
    }

    /// A combination of SDWebImage's option bits.
    package struct UsedOptions: Sendable, Decodable {
        package let options: Int
        package let items: Int
    }

    package struct UsedWorker: Sendable, Decodable {
        package let name, host, version: String
        /// Its slots, and the jobs that it ended.
        package let slots, jobs: Int
    }

    /// A pipeline version used by jobs.
    package struct UsedPipeline: Sendable, Decodable {
        package let name: String, version: Int
        package let spec: String
    }
}
