/// Where a claim takes its jobs from.
package enum ClaimSource: Hashable, Sendable {
    /// A queue, by name.
    case queue(String)
    /// The jobs that one batch has, in whatever queue they are.
    case batch(Int64)

    /// The argument `queue` of `larder.claim_v1`; unused for a batch.
    var queueName: String { if case .queue(let name) = self { name } else { "default" } }

    /// The argument `only_batch` of `larder.claim_v1`.
    var onlyBatch: String? { if case .batch(let id) = self { String(id) } else { nil } }
}
