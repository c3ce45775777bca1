import Concurrency
import ImageModel

@testable import Prefetcher

/// A loader whose loads return when the test says so, or at once.
final class StubLoader: Loader {
    enum Answer: Sendable {
        case success, failure(Int)
    }

    private struct State: Sendable {
        var begun: [String] = []
        var inFlight = 0
        var maxInFlight = 0
        /// Results of loads that do not wait yet.
        var early: [String: Answer] = [:]
        var waiting: [(url: String, continuation: CheckedContinuation<Answer, Never>)] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        mutating func take(_ url: String) -> CheckedContinuation<Answer, Never>? {
            guard let index = waiting.firstIndex(where: { $0.url == url }) else { return nil }
            return waiting.remove(at: index).continuation
        }
    }

    private let state = Locked(State())
    private let answer: (@Sendable (String) -> Answer)?

    /// - Parameter answer: the result of each load; without it each waits for `end`.
    init(answer: (@Sendable (String) -> Answer)? = nil) { self.answer = answer }

    /// URLs in the order of their loads.
    var begun: [String] { state.withLock { $0.begun } }
    var maxInFlight: Int { state.withLock { $0.maxInFlight } }

    func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport {
        defer { state.withLock { $0.inFlight -= 1 } }
        let watchers = state.withLock { state in
            state.begun.append(request.url)
            state.inFlight += 1
            state.maxInFlight = max(state.maxInFlight, state.inFlight)
            let due = state.watchers.filter { $0.count <= state.begun.count }
            state.watchers.removeAll { $0.count <= state.begun.count }
            return due.map(\.continuation)
        }
        for watcher in watchers { watcher.resume() }
        let result = if let answer { answer(request.url) } else { await wait(request.url) }
        if case .failure(let code) = result {
            throw LoadError(.fetch, FailureCode(domain: FailureCode.Domain.webImage, code: code), request.url)
        }
        return LoadReport()
    }

    /// Returns when `count` loads have begun.
    func waitForBegin(of count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.begun.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func end(_ url: String, _ answer: Answer = .success) {
        let waiter = state.withLock { state in
            let waiter = state.take(url)
            if waiter == nil { state.early[url] = answer }
            return waiter
        }
        waiter?.resume(returning: answer)
    }

    private func wait(_ url: String) async -> Answer {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Answer? in
                    if let early = state.early.removeValue(forKey: url) { return early }
                    if Task.isCancelled { return .failure(2002) }
                    state.waiting.append((url, continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.take(url) }?.resume(returning: .failure(2002))
        }
    }
}

/// What a prefetcher reported, in order.
final class PrefetchLog: PrefetchObserver {
    private let lines = Locked<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }

    func didPrefetch(_ url: String, finished: Int, total: Int) { add("did \(url) \(finished)/\(total)") }

    func didFinish(total: Int, skipped: Int) { add("finish \(total) \(skipped)") }
}
