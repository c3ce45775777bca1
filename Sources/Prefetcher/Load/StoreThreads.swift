internal import Concurrency

/// Threads that call a store on another host, so that a load that waits for it holds neither a disk thread nor a
/// transcoder.
///
/// Loads that open files for variants first take a permit and keep it until the files are stored. The permits,
/// transcoders plus threads, limit the open files: while all threads wait for the store, each transcoder makes one
/// further image.
struct StoreThreads: Sendable {
    private let pool: ThreadPool
    private let places: AsyncSemaphore

    init(_ threads: Int, transcoders: Int) {
        pool = ThreadPool(name: "store", threads: threads)
        places = AsyncSemaphore(threads + transcoders)
    }

    /// Waits for a permit; false if the task was cancelled first.
    func enter() async -> Bool { await places.acquire() }

    func leave() { places.release() }

    /// Runs the blocking `body` on one of the threads.
    func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await pool.run(body)
    }
}

final class LoadsInFlight: Sendable {
    private let counts = Locked<[LoadError.Stage: Int]>([:])

    /// Stages with at least one load.
    var current: [LoadError.Stage: Int] { counts.withLock { $0 }.filter { $0.value > 0 } }

    /// Every `enter` is followed by one `leave`.
    func enter(_ stage: LoadError.Stage) { counts.withLock { $0[stage, default: 0] += 1 } }

    func leave(_ stage: LoadError.Stage) { counts.withLock { $0[stage, default: 0] -= 1 } }
}
