/// A webhook that is due, for one attempt to deliver it.
package struct DueWebhook: Sendable {
    /// The id of its batch.
    package let batch: Int64
    /// The URL to post to.
    package let url: String
    /// 1 for the first attempt.
    package let attempt: Int
    /// The same for all attempts of one end of the batch.
    package let id: String
    /// The database's time, in seconds since 1970.
    package let sentAt: Int64
    /// The body: a JSON object.
    package let payload: String
}

extension PostgresJobQueue.Workers {
    /// The webhook that is due for longest; nil when none is. It is due again in a minute, unless `finish` is called.
    package func takeWebhook() async throws(QueueError) -> DueWebhook? {
        try await database.ask(
            "SELECT batch_id, url, attempt, id, sent_at, payload FROM larder.take_webhook_v1()",
            repeating: .onlyUndone, maxWait: .zero
        ) { rows throws(QueueError) in
            guard rows.count > 0 else { return nil }
            return DueWebhook(
                batch: rows.integer(0, 0) ?? 0, url: rows.text(0, 1) ?? "", attempt: Int(rows.integer(0, 2) ?? 0),
                id: rows.text(0, 3) ?? "", sentAt: rows.integer(0, 4) ?? 0, payload: rows.text(0, 5) ?? "")
        }
    }

    /// Records how the attempt ended: delivered without `error`, else due again later.
    package func finish(_ webhook: DueWebhook, status: Int?, error: String?) async throws(QueueError) {
        try await database.ask(
            "SELECT larder.webhook_done_v1($1, $2::int, $3::int, $4)",
            [
                .integer(webhook.batch), .integer(Int64(webhook.attempt)), .integer(status.map(Int64.init)),
                .text(error),
            ], cancellation: .never
        ) { _ throws(QueueError) in }
    }
}
