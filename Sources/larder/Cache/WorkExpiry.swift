import Concurrency
import DiskCache
import Prefetcher
import Worker

/// Expires the cache of a worker every hour and at its end, if `--max-age` or `--max-size` is set.
struct WorkExpiry {
    private let expiry: (store: DirectoryStore, policy: ExpiryPolicy)?
    private let disk = ThreadPool(name: "expiry", threads: 1)

    static let options = [
        Option("max-age", .value("DURATION"), "expire files this old, every hour and at the end; default: none"),
        Option("max-size", .value("SIZE"), "when the cache takes more, expire the oldest down to half; default: none"),
        Option("expire-by", .value("DATE"), "access (default), modification, creation or change"),
    ]

    /// Without these options nothing expires, as a warmed cache must not empty itself.
    init(_ arguments: Arguments, cacheRoot: String) throws {
        let policy = try ExpiryOptions.policy(arguments, elseAge: nil)
        guard try arguments.value("max-age") != nil || arguments.value("max-size") != nil, let policy else {
            expiry = nil
            return
        }
        expiry = (DirectoryStore(try CacheLayout(root: cacheRoot)), policy)
    }

    /// Expires during and after `work`, until `stop` is requested.
    func during<Value: Sendable>(
        _ log: EventLog, _ printer: Printer, until stop: ShutdownRequest, _ work: @Sendable () async throws -> Value
    ) async throws -> Value {
        guard expiry != nil else { return try await work() }
        let value = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while true {
                    try await Task.sleep(for: .seconds(3600))
                    await once(log, printer, stop)
                }
            }
            defer { group.cancelAll() }
            return try await work()
        }
        await once(log, printer, stop)
        return value
    }

    /// Does nothing while another worker expires the cache.
    private func once(_ log: EventLog, _ printer: Printer, _ stop: ShutdownRequest) async {
        guard let expiry, stop.urgency < .cancel else { return }
        do throws(StoreError) {
            let report = try await disk.run { () throws(StoreError) in
                try expiry.store.expire(expiry.policy, progress: { _ in stop.urgency < .cancel })
            }
            log.write(.expired(ExpiryLine(report, isDryRun: false)), to: printer)
        } catch {
            if error.code != .busy { log.write(.expiryFailed(error), to: printer) }
        }
    }
}
