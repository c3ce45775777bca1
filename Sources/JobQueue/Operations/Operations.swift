extension PostgresJobQueue {
    /// Changes queues, schedules, origins and the blocklist.
    package var operations: Operations { Operations(database: self) }

    /// The calls of operators, of which the command line and the dashboard consist; their login needs the role
    /// `larder_admin`.
    package struct Operations: Sendable {
        let database: PostgresJobQueue
    }
}

extension PostgresJobQueue.Operations {
    /// Deletes a finished batch and its records: it is unknown from now on, and maintenance deletes the rows.
    ///
    /// Throws `.unknownBatch`, and `.batchClosed` when it is not finished.
    package func delete(_ batch: BatchReference) async throws(QueueError) {
        try await database.ask("SELECT larder.batch_delete($1::text)", [.text(batch.text)]) { _ throws(QueueError) in }
    }
}
