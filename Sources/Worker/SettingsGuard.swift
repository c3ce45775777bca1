internal import ImageModel
internal import JobQueue

/// Finds out whether the first jobs of a worker all fail for its own settings: addresses, ports and formats that it
/// does not accept. It has then been started with the wrong options, and would fail the whole queue within seconds.
///
/// A pure value. The failures of the first jobs are held back until another job shows that the settings are good.
struct SettingsGuard: Sendable {
    /// How many first jobs must fail.
    static let limit = 20

    enum Verdict: Sendable {
        /// The result is held back.
        case held
        /// These results are to be recorded.
        case recorded([AttemptResult])
        /// The settings are wrong; these jobs return to the queue.
        case refused([AttemptResult], because: FailureReason)
    }

    private var held: [AttemptResult] = []
    private var isOver: Bool

    init(isOver: Bool) { self.isOver = isOver }

    /// The number of results held back.
    var count: Int { held.count }

    /// An attempt ended.
    mutating func add(_ result: AttemptResult) -> Verdict {
        guard !isOver else { return .recorded([result]) }
        guard let failure = result.refusedBySettings else {
            // Answers of the blocklist or of a pause do not show whether the settings are right.
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

    /// The results that are recorded as they are, because no other job follows.
    mutating func take() -> [AttemptResult] {
        defer { held = [] }
        return held
    }
}

extension AttemptResult {
    fileprivate var isSuccess: Bool { delay == nil && outcome.result == .succeeded }

    /// The failure of a job that a worker with other options accepts; nil for every other result.
    var refusedBySettings: FailureReason? {
        guard delay == nil, case .failed(let reason, _) = outcome.result, !reason.needs.isEmpty else { return nil }
        let isPolicy = reason.failureCode == .addressRefused || reason.failureCode == .portRefused
        return isPolicy || reason.isRefusedFormat ? reason : nil
    }
}
