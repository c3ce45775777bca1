import Concurrency
import HTTPServer

/// Answers of the last seconds, so that ten viewers cost as many queries as one. Equal concurrent queries share an
/// answer.
final class DashboardAnswers: Sendable {
    private struct Question: Hashable {
        let path: String
        let arguments: [String: String]
        /// An answer older than a change is only for callers that asked before the change.
        let changes: Int
    }

    private struct Kept {
        let answer: HTTPAnswer
        let until: ContinuousClock.Instant
    }

    private struct State {
        var kept: [Question: Kept] = [:]
        var changes = 0
    }

    private static let limit = 50

    private let state = Locked(State())
    private let flights = SingleFlight<Question, Result<HTTPAnswer, any Error>>()

    /// Callers waiting for another caller's answer.
    var waiterCount: Int { flights.waiterCount }

    /// The cached answer, else the result of `make`. The caller has authorized the user.
    func answer(
        to request: HTTPRequest, lasting time: Duration, _ make: () async throws -> HTTPAnswer
    ) async throws -> HTTPAnswer {
        let question = state.withLock {
            Question(path: request.path, arguments: request.arguments, changes: $0.changes)
        }
        if let answer = kept(question) { return answer }
        let result = await flights.run(question) { () -> Result<HTTPAnswer, any Error> in
            if let answer = kept(question) { return .success(answer) }
            // The age counts from the query, not from its answer.
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

    /// Drops all answers, after a change.
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

/// Times in answers that change continuously: the page counts them, so an answer that differs only in these is not sent
/// again.
enum PassingTimes {
    private static let names = ["seconds", "etaSeconds", "heartbeatAt"].map { Array("\"\($0)\":".utf8) }

    /// The JSON without these fields, which are numbers or times.
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
