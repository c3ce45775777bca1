public import ImageModel

/// What the database decided about one outcome.
public enum Decision: Sendable, Equatable {
    /// Terminal: recorded as a success.
    case succeeded
    /// The job runs again, at the earliest after this time by the database's clock.
    case retried(after: Duration)
    /// Terminal: recorded as failed; the reason may differ from the reported one (a second 301 becomes 302).
    case failed(FailureReason)
    /// Terminal: recorded as cancelled.
    case cancelled
    /// The claim was no longer held: nothing was recorded, and nothing may be published.
    case stale
    /// Another transaction has the row of the job locked; send the result again shortly. Nothing was recorded, and
    /// the claim is still held.
    case busy
}
