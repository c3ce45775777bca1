import JobQueue

/// The work of a drained queue that an operator has paused or must resume.
struct HeldWork {
    private let queue: String
    private let isPaused: Bool
    private let hasSuspended: Bool

    var isEmpty: Bool { !isPaused && !hasSuspended }

    /// A paused queue is not found by a login that may not read the view `queue`.
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

    /// A line per kind of work with the command that resumes it.
    var lines: [String] {
        (isPaused
            ? ["queue \(queue) is paused and has jobs left; 'larder resume --queue \(queue)' resumes them"] : [])
            + (hasSuspended
                ? [
                    "queue \(queue) has suspended jobs; 'larder resume BATCH' resumes those of a paused batch, "
                        + "'larder retry --job N' a job whose workers crashed"
                ] : [])
    }
}

extension QueueError {
    /// insufficient_privilege: the login lacks a permission.
    var isDenied: Bool { sqlState == "42501" }
}
