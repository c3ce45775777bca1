/// A present or expected problem of the queue or its database.
package struct HealthFinding: Sendable {
    package enum Severity: String, Sendable {
        /// Jobs do not run, or the database will fail.
        case error
        /// Becomes a problem if it lasts.
        case warning
        case info
    }

    package let severity: Severity
    /// The kind; docs/operations.md lists them.
    package let what: String
    /// Where, since when and how much.
    package let detail: String
    /// The name or number for the hint's command; nil if it takes none.
    package let subject: String?

    /// The remedy; empty for an unknown kind from a newer database.
    package var hint: String { Self.hints[what, default: ""].replacing("%", with: subject ?? "") }

    /// Remedies by kind; % is the subject.
    private static let hints = [
        "maintenance task fails": "correct what the error says; the task runs again when it is next due",
        "maintenance is late": "start a worker, or call larder.maintain() from cron; it may also wait for a lock",
        "jobs are ready and no worker is live": "start a worker of this queue: larder work --queue %",
        "jobs are ready and no worker claims them": "start a worker of this queue: larder work --queue %",
        "a queue is at its limit": "'larder queue set %' changes its limits",
        "an origin is at its limit": "'larder origin set %' changes its limits",
        "a queue is paused": "'larder resume --queue %' resumes it",
        "a batch is paused": "'larder resume %' resumes it",
        "a schedule is paused": "'larder resume --schedule %' resumes it",
        "a schedule waits": "'larder status %' shows what the batch waits for, 'larder cancel %' ends it",
        "a schedule fails": "correct what the error says, then 'larder enqueue --schedule %' runs it now",
        "a schedule is late": "start a worker: larder work",
        "a webhook fails":
            "correct what the error says; larder.batch_on_finished() sets the URL again and sends at once",
        "webhooks are not sent": "start a worker with --webhook-secret-file, docs/running.md",
        "jobs have crashed": "find out why the workers die, then 'larder retry --job N' or 'larder cancel --job N'",
        "a worker has a fault of its own":
            "correct what the message says; until then the worker returns the jobs that it concerns unharmed",
        "workers were lost":
            "their jobs run again on other workers; find out why they ended: memory, kill -9, network",
        "a batch is not sealed": "its producer may have ended early: larder.batch_seal(batch) if no URLs follow",
        "the counts of a batch cannot be added up": "report the error; the counts of other batches are not affected",
        "progress is slow": "see whether the maintenance task counts is late or fails",
        "the blocklist is large": "see larder.blocklist; larder.unblock_url() removes a URL",
        "a transaction holds vacuum back":
            "end it, or SELECT pg_terminate_backend(%); see idle_in_transaction_session_timeout",
        "a standby's feedback holds vacuum back":
            "end the long query on the standby, or set hot_standby_feedback = off there",
        "a prepared transaction holds vacuum back": "COMMIT PREPARED % or ROLLBACK PREPARED %",
        "a replication slot holds vacuum back": "let its standby catch up, or drop the slot",
        "transactions of other sessions are not visible": "GRANT pg_read_all_stats TO %",
        "dead rows pile up": "see what holds vacuum back, and whether autovacuum runs",
        "autovacuum is off": "turn it on: without it tables grow without bound",
        "no worker runs vacuum":
            "autovacuum and larder.maintain() do the work; at high rates GRANT the owner's role to the workers' login",
        "too few partitions ahead":
            "see whether the maintenance task % is late or fails, and what holds vacuum back",
        "history is kept too long":
            "see whether the maintenance task % is late or fails, and what holds vacuum back",
        "roles are missing":
            "with CREATEROLE: SELECT larder_data.create_roles(); then as the owner: SELECT larder_data.secure()",
    ]
}
