/// What completing and claiming returned.
public struct CompleteAndClaim: Sendable {
    /// What was decided, in the order of the outcomes.
    public let completions: [CompletionResult]
    /// Nil: a claim is a call of its own.
    public let jobs: [Job]?
}

extension WorkerSession {
    /// Completes; the claim is a call of its own.
    package func complete(
        _ outcomes: [Outcome], claimingUpTo limit: Int, from source: ClaimSource
    ) async throws(QueueError) -> CompleteAndClaim {
        CompleteAndClaim(completions: try await complete(outcomes), jobs: nil)
    }
}
