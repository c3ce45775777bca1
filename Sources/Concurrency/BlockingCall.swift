/// Runs an asynchronous function and blocks the calling thread until it returns.
///
/// For functions that must block, such as a store's, with asynchronous work. Must not be called on the cooperative
/// pool, as it occupies a thread. The task cannot outlive the call.
package func blockingCall<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () async throws(Failure) -> Value
) throws(Failure) -> Value {
    let result = ConditionLock<Result<Value, Failure>?>(nil)
    Task(executorPreference: globalConcurrentExecutor) {
        do throws(Failure) {
            let value = try await body()
            result.change { $0 = .success(value) }
        } catch {
            result.change { $0 = .failure(error) }
        }
    }
    return try result.wait { $0 }.get()
}

/// Runs an asynchronous function and blocks the calling thread until it returns. Meanwhile this thread answers the
/// function's questions, so `answer` need not be sendable or outlive the call.
///
/// As `blockingCall`, must not be called on the cooperative pool.
package func answeringCall<Value: Sendable, Failure: Error>(
    _ answer: () -> Bool,
    _ body: @escaping @Sendable (_ ask: @escaping @Sendable () async -> Bool) async throws(Failure) -> Value
) throws(Failure) -> Value {
    let event = ConditionLock<CallEvent<Value, Failure>?>(nil)
    Task(executorPreference: globalConcurrentExecutor) {
        do throws(Failure) {
            let value = try await body {
                await withCheckedContinuation { question in event.change { $0 = .question(question) } }
            }
            event.change { $0 = .end(.success(value)) }
        } catch {
            event.change { $0 = .end(.failure(error)) }
        }
    }
    while true {
        let next = event.wait { event -> CallEvent<Value, Failure>? in
            defer { event = nil }
            return event
        }
        switch next {
        case .question(let question): question.resume(returning: answer())
        case .end(let result): return try result.get()
        }
    }
}

/// A running function's message to the waiting thread.
private enum CallEvent<Value: Sendable, Failure: Error>: Sendable {
    /// It waits for an answer.
    case question(CheckedContinuation<Bool, Never>)
    case end(Result<Value, Failure>)
}
