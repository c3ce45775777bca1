package import FoundationEssentials
import ImageModel
package import JobQueue

/// Lines about paused origins, whose jobs do not run.
package enum HeldOriginLine {
    /// One line per origin whose jobs are currently deferred.
    package static func all(in queue: PostgresJobQueue, now: Date = .now) async throws(QueueError) -> [String] {
        try await visible(in: queue).filter { $0.remaining > .zero }.map { held in
            "origin \(held.origin) is held until \(end(held, now)) (\(held.reason.rawValue)), its jobs are scheduled "
                + "for then; 'larder status --origins' shows all"
        }
    }

    /// When the jobs of the first 20 resumed origins run: their times stay.
    package static func deferred(_ cleared: [HeldOrigin], now: Date = .now) -> [String] {
        cleared.filter { $0.remaining > .zero }.prefix(20).map { held in
            "jobs of \(held.origin) that were deferred run from \(end(held, now)) on; 'larder retry --job N' runs one "
                + "at once"
        }
    }

    /// The paused origins; empty if the login may not read them.
    package static func visible(in queue: PostgresJobQueue) async throws(QueueError) -> [HeldOrigin] {
        do throws(QueueError) {
            return try await queue.reports.heldOrigins()
        } catch {
            guard error.isDenied else { throw error }
            return []
        }
    }

    /// The age at which an open breaker becomes a warning: several probes have failed.
    private static let longAge = Duration.seconds(180)

    /// The finding for `status --health`: a warning for a breaker that has long been open.
    package static func health(_ held: HeldOrigin, now: Date) -> HealthLine {
        let cause = held.failure.map { ": \(FailureAdvice.text(domain: $0.domain, code: $0.code))" } ?? ""
        if held.reason == .breaker, held.age >= longAge {
            return HealthLine(
                severity: .warning, what: "an origin does not respond",
                detail: "\(held.origin) for \(held.age.components.seconds / 60) min\(cause)",
                hint: "its jobs wait; workers with --breaker-probes let them fail")
        }
        let end = held.remaining > .zero ? "until \(end(held, now))" : "until a probe succeeds"
        return HealthLine(
            severity: .info, what: "an origin is held",
            detail: "\(held.origin), \(end), \(held.reason.rawValue)\(cause)",
            hint: "its jobs are scheduled for then; 'larder resume --origin \(held.origin)' removes the hold")
    }

    private static func end(_ held: HeldOrigin, _ now: Date) -> String {
        now.addingTimeInterval(Double(held.remaining.components.seconds)).ISO8601Format()
    }
}
