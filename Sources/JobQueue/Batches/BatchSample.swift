/// What the newest jobs of a batch add to its counts; it costs the same for any size of the batch.
public struct BatchSample: Sendable, Decodable {
    /// How many jobs were looked at; those that were retried since are left out of the other figures.
    public let jobs: Int
    /// The items that ended in each slot of time, oldest first; a slot without any is left out.
    public let timeline: [Slot]
    /// The length of a slot in ms, at least 100, up to half a day a round number. There are at most 61 slots.
    public let slotMilliseconds: Int
    /// The stages of the jobs that succeeded, in their order: `wait`, `fetch`, `transcode`, `store`.
    public let stages: [BatchStatistics.StageTimes]
    /// The origins with the most failures, then with the most items; at most 20.
    public let origins: [BatchStatistics.OriginCount]
    /// How many origins there are.
    public let originCount: Int
    /// The jobs that took longest, at most ten.
    public let slowest: [BatchStatistics.SlowJob]
    /// The largest originals that were downloaded, at most ten.
    public let largest: [BatchStatistics.LargeOriginal]
    /// The files by variant, the originals not included, of fewer jobs; at most 50 variants.
    public let variants: [BatchStatistics.VariantSize]
    /// The failures by cause, most frequent first, at most 50; without their origins by name.
    public let causes: [BatchStatistics.FailureCause]

    /// The items that ended in a slot of time.
    public struct Slot: Sendable, Decodable {
        /// The slot, from 0.
        public let slot: Int
        /// Items that succeeded.
        public let succeeded: Int
        /// Items that failed or were cancelled.
        public let skipped: Int
    }
}
