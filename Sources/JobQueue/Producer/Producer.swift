extension PostgresJobQueue {
    /// Enqueues URLs; opens, seals and controls batches.
    public var producer: Producer { Producer(database: self) }

    /// The calls of a program that enqueues URLs and owns batches; its login needs the role `larder_producer`.
    public struct Producer: Sendable {
        let database: PostgresJobQueue
    }
}
