import Downloader
import ImageModel
import Prefetcher
import Terminal

/// Repeats a download until it succeeds, fails with an error that is not retried, or the deadline is reached.
struct Retries {
    let policy: RetryPolicy
    let deadline: ContinuousClock.Instant

    /// - Throws: the last error of `body`.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable () async throws(FetchError) -> Value
    ) async throws -> Value {
        var retry = 0
        while true {
            do {
                return try await limited(body)
            } catch let error as FetchError {
                let classification = FailureClassification.of(
                    domain: error.domain, code: error.domainCode, httpStatus: error.httpStatus)
                // Nothing was requested, so it uses no attempt.
                if error.code == .originHeld, let wait = error.retryAfter, .now + wait < deadline {
                    try await Task.sleep(for: wait)
                    continue
                }
                // Only a worker repeats a local fault, since it can return its jobs meanwhile.
                guard classification.isRetried, error.code != .localFault,
                    let wait = policy.wait(
                        before: retry, retryAfter: error.retryAfter, random: .random(in: 0..<1)),
                    .now + wait < deadline
                else { throw error }
                retry += 1
                try await Task.sleep(for: wait)
            }
        }
    }

    /// One attempt, ended at the deadline.
    private func limited<Value: Sendable>(
        _ body: @escaping @Sendable () async throws(FetchError) -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { race in
            race.addTask { try await body() }
            race.addTask {
                try await Task.sleep(until: deadline)
                return nil
            }
            defer { race.cancelAll() }
            guard let first = try await race.next(), let value = first else {
                throw CommandError.larder(
                    .timeLimit, "the time limit is reached, see --max-runtime", exit: .timeLimitReached)
            }
            return value
        }
    }
}
