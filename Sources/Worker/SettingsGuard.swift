internal import ImageModel
internal import JobQueue

/// Detects a worker started with wrong options: its first jobs all fail because it accepts too few addresses, ports or
/// formats. Such a worker would fail the whole queue within seconds.
///
/// The first failures are held until another job proves the options right.
struct SettingsGuard: Sendable {
    /// Failures among the first jobs that prove the options wrong.
    static let limit = 20

    enum Verdict: Sendable {
        case held
        case recorded([AttemptResult])
        /// The options are wrong. These jobs return to the queue.
        case refused([AttemptResult], because: FailureReason)
    }

    private var held: [AttemptResult] = []
    private var isOver: Bool

    init(isOver: Bool) { self.isOver = isOver }

    var count: Int { held.count }

    mutating func add(_ result: AttemptResult) -> Verdict {
        guard !isOver else { return .recorded([result]) }
        guard let failure = result.refusedBySettings else {
            // Blocked and paused jobs prove nothing about the options.
            guard result.showsHealth || result.isSuccess else { return .recorded([result]) }
            isOver = true
            return .recorded(take() + [result])
        }
        held.append(result)
        guard held.count >= Self.limit else { return .held }
        var needs: [RequiredSetting] = []
        for setting in held.compactMap(\.refusedBySettings).flatMap(\.needs) where !needs.contains(setting) {
            needs.append(setting)
        }
        var reason = FailureReason(
            .localFault,
            "the first \(held.count) jobs all failed for this worker's options, the last one with: \(failure.message)")
        reason.needs = needs
        isOver = true
        return .refused(take(), because: reason)
    }

    /// Releases the held results, to be recorded because no further job follows.
    mutating func take() -> [AttemptResult] {
        defer { held = [] }
        return held
    }
}

extension AttemptResult {
    fileprivate var isSuccess: Bool { delay == nil && outcome.result == .succeeded }

    /// The failure, if a worker with other options would accept the job.
    var refusedBySettings: FailureReason? {
        guard delay == nil, case .failed(let reason, _) = outcome.result, !reason.needs.isEmpty else { return nil }
        let isPolicy = reason.failureCode == .addressRefused || reason.failureCode == .portRefused
        return isPolicy || reason.isRefusedFormat ? reason : nil
    }
}
