/// What the child processes of a pool have done since it was created.
package struct ChildCounts: Sendable, Equatable {
    /// Processes that were started: one per child at first, and one for each that was replaced.
    package var started = 0
    /// Processes that were lost with a request: they died, hung or exceeded a limit.
    package var lost = 0
    /// Processor time of the requests that were answered.
    package var processorTime = Duration.zero
    /// Of that, the time of decoding, drawing and encoding.
    package var codecTime = Duration.zero

    mutating func add(_ result: Result<ChildReply, TranscodeError>) {
        switch result {
        case .success(let reply):
            processorTime += reply.processorTime
            codecTime += reply.codecTime
        case .failure: lost += 1
        }
    }

    static func + (one: ChildCounts, other: ChildCounts) -> ChildCounts {
        ChildCounts(
            started: one.started + other.started, lost: one.lost + other.lost,
            processorTime: one.processorTime + other.processorTime, codecTime: one.codecTime + other.codecTime)
    }
}
