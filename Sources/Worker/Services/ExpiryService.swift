internal import Concurrency
internal import DiskCache

/// Deletes expired files from a worker's cache every hour and when the worker ends.
///
/// An urgent shutdown stops a run under way and starts no further one.
struct ExpiryService: WorkerService {
    static let interval = Duration.seconds(3600)

    let store: any ImageStore
    let policy: ExpiryPolicy
    let shutdown: ShutdownRequest
    let observe: @Sendable (WorkerEvent) -> Void
    private let disk = ThreadPool(name: "expiry", threads: 1)

    func run() async {
        while !Task.isCancelled {
            // Cancellation ends the sleep early; the last run follows.
            try? await Task.sleep(for: Self.interval)
            await expire()
        }
    }

    private func expire() async {
        guard shutdown.urgency < .cancel else { return }
        do throws(StoreError) {
            let report = try await disk.run { [store, policy, shutdown] () throws(StoreError) in
                try store.expire(
                    policy, now: .now, isDryRun: false, deleted: { _ in }, progress: { _ in shutdown.urgency < .cancel }
                )
            }
            observe(.expired(report))
        } catch {
            // Busy: another worker expires the cache.
            if error.code != .busy { observe(.expiryFailed(error)) }
        }
    }
}
