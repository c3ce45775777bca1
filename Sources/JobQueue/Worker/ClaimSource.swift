/// Where a claim takes its jobs from.
package enum ClaimSource: Hashable, Sendable {
    /// A queue, by name.
    case queue(String)
    /// What one batch wants, in whatever queue it stands.
    case batch(Int64)

    /// The queue as `larder.claim_v1` is told it; a claim of a batch's jobs asks nothing of it.
    var queueName: String { if case .queue(let name) = self { name } else { "default" } }

    /// The only batch, as `larder.claim_v1` is told it.
    var onlyBatch: Int64? { if case .batch(let id) = self { id } else { nil } }
}
