import Concurrency

/// Runs what computes or blocks for long on a thread of its own. On the cooperative pool, which has one thread for each
/// core, it would hold up all other tests, and the leases and deadlines in them would run out.
///
/// Expectations belong after the call: on the thread it is not known which test they are of.
public func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await ThreadPool(name: "test", threads: 1).run { () throws(any Error) in try body() }
}
