/// Runs an asynchronous function and blocks the calling thread until it returns.
///
/// For functions that block by contract, such as those of a store, where the work is asynchronous. The caller must not
/// be on the cooperative pool, of which it would take a thread. The task cannot outlive the call.
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
