import Concurrency

/// The answers of the last second, so that ten viewers cost the database as much as one.
final class DashboardAnswers: Sendable {
    private struct Question: Hashable {
        let path: String
        let arguments: [String: String]
    }

    private struct Kept {
        let answer: HTTPAnswer
        let until: ContinuousClock.Instant
    }

    private static let time = Duration.seconds(1)
    private static let limit = 200

    private let kept = Locked<[Question: Kept]>([:])

    /// The answer that is kept for the request, else what `make` returns. The caller has checked the user.
    func answer(to request: HTTPRequest, _ make: () async throws -> HTTPAnswer) async throws -> HTTPAnswer {
        let question = Question(path: request.path, arguments: request.arguments)
        if let found = kept.withLock({ $0[question] }), found.until > .now { return found.answer }
        // As old as the question, not as the answer.
        let until = ContinuousClock.now + Self.time
        let answer = try await make()
        kept.withLock { kept in
            if kept.count >= Self.limit { kept.removeAll() }
            kept[question] = Kept(answer: answer, until: until)
        }
        return answer
    }

    /// Forgets all answers, after a change.
    func forget() { kept.withLock { $0.removeAll() } }
}
