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

    private struct State {
        var kept: [Question: Kept] = [:]
        /// How often a change was made.
        var changes = 0
    }

    private static let time = Duration.seconds(1)
    private static let limit = 50

    private let state = Locked(State())

    /// The answer that is kept for the request, else what `make` returns. The caller has checked the user.
    func answer(to request: HTTPRequest, _ make: () async throws -> HTTPAnswer) async throws -> HTTPAnswer {
        let question = Question(path: request.path, arguments: request.arguments)
        let (found, changes) = state.withLock { ($0.kept[question], $0.changes) }
        if let found, found.until > .now { return found.answer }
        // As old as the question, not as the answer.
        let until = ContinuousClock.now + Self.time
        let answer = try await make()
        state.withLock { state in
            // An answer that a change has overtaken is for this caller alone.
            guard state.changes == changes else { return }
            if state.kept.count >= Self.limit { state.kept.removeAll() }
            state.kept[question] = Kept(answer: answer, until: until)
        }
        return answer
    }

    /// Forgets all answers, after a change.
    func forget() {
        state.withLock { state in
            state.kept.removeAll()
            state.changes += 1
        }
    }
}
