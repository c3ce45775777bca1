import Concurrency
import Glibc
import JobQueue
import Worker

/// The progress of `work` on a terminal: one line, redrawn twice a second.
final class WorkProgress: WorkerService {
    private struct State {
        var claimed = 0
        var ended = 0
        var failed = 0
        var retried = 0
        var rate = RecentRate()
    }

    private let state = Locked(State())
    private let stages: @Sendable () -> String?

    /// - Parameter stages: what the loads do now, as `LoadStageName.text` says it.
    init(stages: @escaping @Sendable () -> String? = { nil }) { self.stages = stages }

    func observe(_ event: WorkerEvent) {
        state.withLock { state in
            switch event {
            case .claimed(let count): state.claimed += count
            case .completed(let report):
                state.ended += 1
                if case .failed = report.decision { state.failed += 1 }
                if case .retried = report.decision { state.retried += 1 }
            default: break
            }
        }
    }

    func run() async {
        while !Task.isCancelled {
            Console.progress(line(at: .now).text(width: Console.columns(STDERR_FILENO)))
            try? await Task.sleep(for: .milliseconds(500))
        }
        Console.progress(nil)
    }

    func line(at now: ContinuousClock.Instant) -> ProgressLine {
        let inFlight = stages()
        return state.withLock { state in
            var line = ProgressLine(done: state.ended, total: nil, unit: "attempts ended")
            let rate = state.rate.update(state.ended, at: now)
            if state.ended > 0 { line.rate = rate }
            if state.failed > 0 { line.notes.append("\(state.failed) failed") }
            if state.retried > 0 { line.notes.append("\(state.retried) retried") }
            line.notes.append("\(max(0, state.claimed - state.ended)) running")
            if let inFlight { line.notes.append(inFlight) }
            return line
        }
    }
}
