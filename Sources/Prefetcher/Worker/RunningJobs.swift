internal import Executors
internal import JobQueue

/// The jobs a shift holds, each with a bell that cancels it.
final class RunningJobs: Sendable {
    private let bells = Locked<[Claim: Doorbell]>([:])

    private enum Lane<Value: Sendable>: Sendable {
        case body(Value)
        case bell(rung: Bool)
    }

    /// Runs `body` for a job. A bell rung meanwhile cancels it, which `body` sees as its task's cancellation.
    ///
    /// - Returns: what `body` returned, and whether the bell was rung.
    func run<Value: Sendable>(
        _ claim: Claim, _ body: @escaping @Sendable () async -> Value
    ) async -> (value: Value?, wasCancelled: Bool) {
        let bell = Doorbell()
        bells.withLock { $0[claim] = bell }
        defer { bells.withLock { _ = $0.removeValue(forKey: claim) } }
        return await withTaskGroup(of: Lane<Value>.self) { race in
            race.addTask { .body(await body()) }
            race.addTask {
                await bell.wait()
                return .bell(rung: !Task.isCancelled)
            }
            var wasCancelled = false
            while let lane = await race.next() {
                race.cancelAll()
                switch lane {
                case .body(let value): return (value, wasCancelled)
                case .bell(let rung): wasCancelled = rung
                }
            }
            return (nil, wasCancelled)
        }
    }

    /// Cancels those of `claims` that run here.
    func cancel(_ claims: [Claim]) {
        let rung = bells.withLock { bells in claims.compactMap { bells[$0] } }
        for bell in rung { bell.ring() }
    }
}
