import Concurrency
import HTTPServer

/// The answers of the last seconds, so that ten viewers ask the database what one would ask. Equal questions at the
/// same time wait for one answer.
final class DashboardAnswers: Sendable {
    private struct Question: Hashable {
        let path: String
        let arguments: [String: String]
        /// An answer that a change has overtaken is for those alone who asked before it.
        let changes: Int
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

    private static let limit = 50

    private let state = Locked(State())
    private let flights = SingleFlight<Question, Result<HTTPAnswer, any Error>>()

    /// Callers that wait for another caller's answer.
    var waiterCount: Int { flights.waiterCount }

    /// The answer that is kept for the request, else what `make` returns. The caller has checked the user.
    func answer(
        to request: HTTPRequest, lasting time: Duration, _ make: () async throws -> HTTPAnswer
    ) async throws -> HTTPAnswer {
        let question = state.withLock {
            Question(path: request.path, arguments: request.arguments, changes: $0.changes)
        }
        if let answer = kept(question) { return answer }
        let result = await flights.run(question) { () -> Result<HTTPAnswer, any Error> in
            if let answer = kept(question) { return .success(answer) }
            // As old as the question, not as the answer.
            let until = ContinuousClock.now + time
            do {
                var answer = try await make()
                answer.content = PassingTimes.removed(from: answer.body).hashValue
                keep(Kept(answer: answer, until: until), for: question)
                return .success(answer)
            } catch { return .failure(error) }
        }
        guard let result else { throw CancellationError() }
        return try result.get()
    }

    /// Forgets all answers, after a change.
    func forget() {
        state.withLock { state in
            state.kept.removeAll()
            state.changes += 1
        }
    }

    private func kept(_ question: Question) -> HTTPAnswer? {
        state.withLock { state in
            guard let kept = state.kept[question], kept.until > .now else { return nil }
            return kept.answer
        }
    }

    private func keep(_ kept: Kept, for question: Question) {
        state.withLock { state in
            guard state.changes == question.changes else { return }
            if state.kept.count >= Self.limit { state.kept.removeAll() }
            state.kept[question] = kept
        }
    }
}

/// The times in answers that pass by themselves: the page counts them on, so an answer that differs in these alone is
/// not sent again.
enum PassingTimes {
    private static let names = ["seconds", "etaSeconds", "heartbeatAt"].map { Array("\"\($0)\":".utf8) }

    /// The JSON without the values of these fields, which are numbers or times.
    static func removed(from json: [UInt8]) -> [UInt8] {
        var kept: [UInt8] = []
        kept.reserveCapacity(json.count)
        var place = 0
        while place < json.count {
            let byte = json[place]
            if byte == UInt8(ascii: "\""), let name = names.first(where: { json[place...].starts(with: $0) }) {
                kept += name
                place += name.count
                while place < json.count, json[place] != UInt8(ascii: ","), json[place] != UInt8(ascii: "}") {
                    place += 1
                }
            } else {
                kept.append(byte)
                place += 1
            }
        }
        return kept
    }
}
