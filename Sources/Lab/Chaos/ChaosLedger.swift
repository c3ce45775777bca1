import Concurrency
import Measuring
import Terminal

/// A run's observations: injected faults, violations, and the time from a fault to the next completed job.
final class ChaosLedger: Sendable {
    struct Violation: Sendable {
        let fault: FaultKind?
        let seconds: Double
        let text: String
    }

    struct Row: Sendable {
        let kind: FaultKind
        let injected: Int
        let violations: Int
        /// Seconds from each fault to the next completed job.
        let recoveries: [Double]
        /// Why the kind was not injected.
        let skipped: String?
    }

    private struct Pending: Sendable {
        let kind: FaultKind
        let start: ContinuousClock.Instant
        /// Succeeded items when the fault was injected, or a moment later.
        var succeeded: Int?
    }

    private struct State: Sendable {
        var injected: [FaultKind: Int] = [:]
        var skipped: [FaultKind: String] = [:]
        var recoveries: [FaultKind: [Double]] = [:]
        var violations: [Violation] = []
        var violationCount: [FaultKind?: Int] = [:]
        var pending: [Pending] = []
        var disturbances = 0
        var disturbed = ContinuousClock.now
        var last: FaultKind?
        var isEnding = false
    }

    /// Violations kept with their text; further ones are only counted.
    private static let mostTexts = 1_000
    let start = ContinuousClock.now
    private let state = Locked(State())

    func skip(_ kind: FaultKind, _ reason: String) { state.withLock { $0.skipped[kind] = reason } }

    func began(_ kind: FaultKind) {
        state.withLock { state in
            state.injected[kind, default: 0] += 1
            state.pending.append(Pending(kind: kind, start: .now))
            state.last = kind
            if kind.disturbsDatabase { state.disturbances += 1 }
        }
    }

    func ended(_ kind: FaultKind) {
        guard kind.disturbsDatabase else { return }
        state.withLock { state in
            state.disturbances -= 1
            state.disturbed = .now
        }
    }

    /// Whether the database answered normally from `start` on.
    func isDatabaseUndisturbed(since start: ContinuousClock.Instant) -> Bool {
        // A server that starts again recovers for a moment.
        state.withLock { $0.disturbances == 0 && $0.disturbed + .seconds(2) < start }
    }

    /// Counts later violations as found at the end, not under the last fault.
    func beginEnd() { state.withLock { $0.isEnding = true } }

    func violated(_ text: String, under kind: FaultKind? = nil) {
        let seconds = (ContinuousClock.now - start).seconds
        Console.note("larder-lab: violation after \(seconds.short) s: \(text)")
        state.withLock { state in
            let fault = kind ?? (state.isEnding ? nil : state.last)
            state.violationCount[fault, default: 0] += 1
            guard state.violations.count < Self.mostTexts else { return }
            state.violations.append(Violation(fault: fault, seconds: seconds, text: text))
        }
    }

    /// Records the number of succeeded items, read by a query that was sent at `sent`.
    func sampled(succeeded: Int, sent: ContinuousClock.Instant) {
        let now = ContinuousClock.now
        state.withLock { state in
            var left: [Pending] = []
            for var pending in state.pending {
                if let before = pending.succeeded {
                    if succeeded > before {
                        state.recoveries[pending.kind, default: []].append((now - pending.start).seconds)
                        continue
                    }
                } else if sent > pending.start {
                    pending.succeeded = succeeded
                }
                left.append(pending)
            }
            state.pending = left
        }
    }

    /// The faults injected more than `limit` ago without a completed job since.
    func unrecovered(after limit: Duration) -> [FaultKind] {
        let now = ContinuousClock.now
        return state.withLock { state in
            let late = state.pending.filter { $0.start + limit < now }
            state.pending.removeAll { $0.start + limit < now }
            return late.map(\.kind)
        }
    }

    var violations: [Violation] { state.withLock { $0.violations } }
    var violationCount: Int { state.withLock { $0.violationCount.values.reduce(0, +) } }
    var violationsAtEnd: Int { state.withLock { $0.violationCount[nil] ?? 0 } }

    /// A row for each kind that was injected or skipped.
    var rows: [Row] {
        state.withLock { state in
            FaultKind.allCases.compactMap { kind in
                guard state.injected[kind] != nil || state.skipped[kind] != nil else { return nil }
                return Row(
                    kind: kind, injected: state.injected[kind] ?? 0, violations: state.violationCount[kind] ?? 0,
                    recoveries: state.recoveries[kind] ?? [], skipped: state.skipped[kind])
            }
        }
    }
}
