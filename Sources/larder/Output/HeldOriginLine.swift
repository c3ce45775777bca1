import Foundation
import ImageModel
import JobQueue

/// An origin that all workers leave alone, for whoever wonders why its jobs do not move.
enum HeldOriginLine {
    /// The lines of all origins whose jobs are put off just now.
    static func all(in queue: PostgresJobQueue, now: Date = .now) async throws(QueueError) -> [String] {
        try await visible(in: queue).compactMap { text($0, now: now) }
    }

    /// The origins that are held or given up; none for a login that may not ask for them.
    static func visible(in queue: PostgresJobQueue) async throws(QueueError) -> [HeldOrigin] {
        do throws(QueueError) {
            return try await queue.heldOrigins()
        } catch {
            guard error.isDenied else { throw error }
            return []
        }
    }

    /// Nil for one whose jobs are handed out: it is given up, or a probe is due.
    static func text(_ held: HeldOrigin, now: Date) -> String? {
        guard !held.isGivenUp, held.remaining > .zero else { return nil }
        return "origin \(held.origin) is held until \(end(held, now)) (\(held.reason.rawValue)), its jobs come "
            + "back after that; 'larder origin list' shows all"
    }

    /// What the queue's health has to say of it: given up is worse than held, as its jobs fail.
    static func health(_ held: HeldOrigin, now: Date) -> HealthLine {
        if held.isGivenUp {
            return HealthLine(
                severity: .warning, what: "an origin is given up",
                detail: "\(held.origin), \(held.failedProbes.counted("probe")) failed in a row\(because(held))",
                hint: "its jobs fail without a request; 'larder origin clear \(held.origin)' lets them ask")
        }
        let end = held.remaining > .zero ? "until \(end(held, now))" : "until a probe succeeds"
        return HealthLine(
            severity: .info, what: "an origin is held",
            detail: "\(held.origin), \(end), \(held.reason.rawValue)\(because(held))",
            hint: "its jobs come back after that; 'larder origin clear \(held.origin)' forgets the hold")
    }

    private static func end(_ held: HeldOrigin, _ now: Date) -> String {
        now.addingTimeInterval(Double(held.remaining.components.seconds)).ISO8601Format()
    }

    private static func because(_ held: HeldOrigin) -> String {
        held.failure.map { " after \($0.domain) \($0.code)" } ?? ""
    }
}
