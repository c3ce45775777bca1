package import Concurrency

/// The limits of all origins, shared by the network thread, which starts transfers by them, and by a worker, which
/// exchanges holds and open breakers with other workers.
package final class OriginLimiter: Sendable {
    /// Signalled when `OriginLimits.takeChanges` has something to return.
    package let changed = AsyncEvent()
    package let settings: OriginSettings
    package let limits: Locked<OriginLimits>

    init(_ configuration: FetchConfiguration) {
        settings = configuration.origins
        limits = Locked(OriginLimits(configuration))
    }
}
