internal import Concurrency

/// Threads that call a store on another host, so that a load that waits for it holds neither a disk thread nor a
/// transcoder.
///
/// Loads that open files for variants take a place first and keep it until these are stored. There are as many places
/// as transcoders and threads, which limits the open files: while all threads wait for the store, each transcoder makes
/// one further image.
struct StoreThreads: Sendable {
    private let pool: ThreadPool
    private let places: AsyncSemaphore

    init(_ threads: Int, transcoders: Int) {
        pool = ThreadPool(name: "store", threads: threads)
        places = AsyncSemaphore(threads + transcoders)
    }

    /// Waits for a place; false when the task was cancelled first.
    func enter() async -> Bool { await places.acquire() }

    /// Returns a place.
    func leave() { places.release() }

    /// Runs `body`, which blocks, on one of the threads.
    func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await pool.run(body)
    }
}

/// How many loads of a manager are in each stage now.
final class LoadsInFlight: Sendable {
    private let counts = Locked<[LoadError.Stage: Int]>([:])

    /// The stages in which a load is.
    var current: [LoadError.Stage: Int] { counts.withLock { $0 }.filter { $0.value > 0 } }

    /// A load enters the stage; it calls `leave` afterwards.
    func enter(_ stage: LoadError.Stage) { counts.withLock { $0[stage, default: 0] += 1 } }

    /// A load leaves the stage.
    func leave(_ stage: LoadError.Stage) { counts.withLock { $0[stage, default: 0] -= 1 } }
}
