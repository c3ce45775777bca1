import JobQueue

/// What a drained queue still has: an operator holds it, and a worker does not wait for operators.
struct HeldWork {
    private let queue: String
    private let isPaused: Bool
    private let hasSuspended: Bool

    /// Whether there is any.
    var isEmpty: Bool { !isPaused && !hasSuspended }

    /// Looks. A worker's login with least rights cannot see whether a queue is paused: then nothing is said of that.
    init(of name: String, in queue: PostgresJobQueue) async throws(QueueError) {
        self.queue = name
        hasSuspended = try await queue.remaining(queue: name).hasSuspended
        do throws(QueueError) {
            isPaused = try await queue.isHeld(queue: name)
        } catch {
            guard error.isDenied else { throw error }
            isPaused = false
        }
    }

    /// What there is and how it goes on, a line each.
    var lines: [String] {
        (isPaused
            ? ["queue \(queue) is paused and has jobs left; 'larder resume --queue \(queue)' lets them go on"] : [])
            + (hasSuspended
                ? [
                    "queue \(queue) has jobs left that are held; 'larder resume BATCH' lets those of a paused batch go on, "
                        + "'larder retry --job N' one that lost its workers"
                ] : [])
    }
}

extension QueueError {
    /// The login may not do this: insufficient_privilege.
    var isDenied: Bool { sqlState == "42501" }
}
