import JobQueue
import Terminal

enum QueueLine {
    /// For `status --queues`.
    static func text(_ queue: QueueStatus) -> String {
        let wait: String? =
            if queue.isPaused { "paused" } else { queue.reachedLimit.map { "at its limit (\($0.rawValue))" } }
        return [
            queue.name, "\(queue.running) running", limits(queue.maxRunning, queue.maxRate),
            "\(queue.openItems.counted("item")) open", wait,
            queue.keepHistory.map { "history kept \(number(Double($0.components.seconds) / 86_400)) d" },
        ].compactMap { $0 }.joined(separator: "\t")
    }

    /// For `status --origins`, an origin with limits.
    static func text(_ origin: LimitedOrigin) -> String {
        let wait: String? =
            if let limit = origin.reachedLimit { "at its limit (\(limit.rawValue))" } else { nil }
        return [
            origin.origin, "\(origin.running) running", limits(origin.maxRunning, origin.maxRate), wait,
            origin.deferredUntil.map { "jobs wait until \($0)" },
        ].compactMap { $0 }.joined(separator: "\t")
    }

    static func limits(_ maxRunning: Int?, _ maxRate: Double?) -> String {
        let limits = [
            maxRunning.map { "at most \($0) running" }, maxRate.map { "at most \(number($0)) per second" },
        ].compactMap { $0 }
        return limits.isEmpty ? "no limit" : limits.joined(separator: ", ")
    }

    /// A line for each queue that is paused with open items, or whose ready jobs wait for its limit; empty if the login
    /// may not read the queues.
    static func waiting(in queue: PostgresJobQueue) async throws(QueueError) -> [String] {
        do throws(QueueError) {
            return try await queue.reports.queues().compactMap { queue in
                if queue.isPaused {
                    guard queue.openItems > 0 else { return nil }
                    return "queue \(queue.name) is paused and has \(queue.openItems.counted("open item")); "
                        + "'larder resume --queue \(queue.name)' resumes it"
                }
                guard queue.hasReady, queue.reachedLimit != nil else { return nil }
                return "queue \(queue.name) is at its limit (\(limits(queue.maxRunning, queue.maxRate)), "
                    + "\(queue.running) run), its ready jobs wait; 'larder queue set \(queue.name)' changes that"
            }
        } catch {
            guard error.isDenied else { throw error }
            return []
        }
    }

    /// Whole numbers without a fraction.
    private static func number(_ rate: Double) -> String { rate == rate.rounded() ? "\(Int(rate))" : "\(rate)" }
}
