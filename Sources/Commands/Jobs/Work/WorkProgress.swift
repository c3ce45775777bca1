import Concurrency
import Glibc
import ImageModel
import JobQueue
import Terminal
import Worker

/// Shows `work`'s progress on a terminal: one line, redrawn twice a second.
final class WorkProgress: WorkerService {
    private struct State {
        var claimed = 0
        var ended = 0
        var failed: [Int: Int] = [:]
        var retried = 0
        var rate = RecentRate()
        var glance: QueueGlance?
    }

    private let state = Locked(State())
    private let stages: @Sendable () -> String?

    private let glance: (@Sendable () async -> QueueGlance?)?
    private let isDrain: Bool

    /// - Parameters:
    ///   - stages: the current stages of the loads, from `LoadStageName.text`.
    ///   - glance: reads the queue every five seconds; nil for none.
    ///   - isDrain: whether the work ends with the queue, so that the remaining time can be estimated.
    init(
        stages: @escaping @Sendable () -> String? = { nil }, glance: (@Sendable () async -> QueueGlance?)? = nil,
        isDrain: Bool = false
    ) {
        self.stages = stages
        self.glance = glance
        self.isDrain = isDrain
    }

    func observe(_ event: WorkerEvent) {
        state.withLock { state in
            switch event {
            case .claimed(let count): state.claimed += count
            case .completed(let report):
                state.ended += 1
                if case .failed = report.decision { state.failed[report.failure?.code ?? 0, default: 0] += 1 }
                if case .retried = report.decision { state.retried += 1 }
            default: break
            }
        }
    }

    func run() async {
        async let _: Void = lookAtQueue()
        while !Task.isCancelled {
            Console.progress(line(at: .now).text(width: Console.columns(STDERR_FILENO)))
            try? await Task.sleep(for: .milliseconds(500))
        }
        Console.progress(nil)
    }

    /// Separate from drawing, which does not wait for the database.
    private func lookAtQueue() async {
        guard let glance else { return }
        while !Task.isCancelled {
            let seen = await glance()
            state.withLock { $0.glance = seen }
            try? await Task.sleep(for: .seconds(5))
        }
    }

    func line(at now: ContinuousClock.Instant) -> ProgressLine {
        let inFlight = stages()
        return state.withLock { state in
            var line = ProgressLine(done: state.ended, total: nil, unit: "attempts ended")
            let rate = state.rate.update(state.ended, at: now)
            if state.ended > 0 { line.rate = rate }
            if !state.failed.isEmpty {
                line.notes.append(
                    ProgressText.failed(state.failed.values.reduce(0, +), state.failed.map { ($0.key, $0.value) }))
            }
            if let seen = state.glance {
                line.notes += seen.notes
                if isDrain, let rate, rate > 0, !seen.isPaused { line.secondsLeft = Int(Double(seen.openItems) / rate) }
            }
            if state.retried > 0 { line.notes.append("\(state.retried) retried") }
            line.notes.append("\(max(0, state.claimed - state.ended)) running")
            if let inFlight { line.notes.append(inFlight) }
            return line
        }
    }
}
