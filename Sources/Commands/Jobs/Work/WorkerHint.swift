import CommandLine
import Concurrency
import ImageModel
import JobQueue
import Prefetcher
import Worker

/// Collects facts about a worker's options from its events, for the hints at its end.
final class WorkerHint: Sendable {
    private struct State: Sendable {
        var needed = NeededSettings()
        var isStopped = false
        var batches: [Int64] = []
        var differing = 0
    }

    /// Maximum batches named in one command.
    private static let batchLimit = 5

    private let arguments: Arguments
    private let state = Locked(State())

    init(_ arguments: Arguments) { self.arguments = arguments }

    func observe(_ event: WorkerEvent) {
        switch event {
        case .completed(let report):
            let differing = report.load.stored.count { $0.differs == true }
            if differing > 0 { state.withLock { $0.differing += differing } }
            guard case .failed = report.decision, let failure = report.failure, !failure.needs.isEmpty else { return }
            // A list may name any file, but a command line URL is the user's own.
            let isOwn = arguments.operandBytes.contains(Array(report.job.url.utf8))
            state.withLock { state in
                state.needed.add(isOwn ? failure.needs : failure.needs.map(\.withoutDirectory))
                let batch = report.job.batch
                if !state.batches.contains(batch), state.batches.count < Self.batchLimit {
                    state.batches.append(batch)
                }
            }
        case .localFault(let fault?) where !fault.needs.isEmpty:
            state.withLock { state in
                state.needed.add(fault.needs.map(\.withoutDirectory))
                state.isStopped = true
            }
        case .localFault(nil): state.withLock { $0.isStopped = false }
        default: break
        }
    }

    /// Whether images failed because of this worker's settings.
    var isNeeded: Bool { state.withLock { !$0.needed.isEmpty } }

    /// Whether the worker stopped claiming because its first jobs all failed by its settings.
    var hasStopped: Bool { state.withLock { $0.isStopped } }

    /// `3 variants differ from their stored recipe`, including cached files that loads found; nil for none.
    var differing: String? { StoredRecipes.text(state.withLock { $0.differing }) }

    /// `larder work --drain` with this command's options and the needed ones.
    var work: NextCommand {
        var needed = state.withLock { $0.needed }
        // `run` reads the files of --from-directory without --allow-path; `work` needs that option.
        needed.add(((try? arguments.list("from-directory")) ?? []).map { .path($0) })
        return NextCommand("work", ["--drain"], repeating: arguments, only: Self.workNames, with: needed)
    }

    /// The command that makes a run's failed images: the same one, or, without repeatable lists and URLs, retries and a
    /// drain.
    ///
    /// - Parameter batch: the run's batch.
    func again(_ batch: Int64) -> NextCommand {
        let isShort = arguments.operandBytes.count <= 20 && (try? arguments.list("from").contains("-")) == false
        return isShort ? run(with: state.withLock { $0.needed }) : retry([batch])
    }

    /// The same `run` with `--remake`.
    var remake: NextCommand { run(["--remake"]) }

    private func run(_ flags: [String] = [], with needed: NeededSettings = NeededSettings()) -> NextCommand {
        NextCommand(
            "run", flags, repeating: arguments, only: Set(arguments.given.map(\.name)), with: needed,
            operands: arguments.operandBytes.map { String(decoding: $0, as: UTF8.self) })
    }

    /// The command that makes a worker's failed images, in the batches that it met.
    var retry: NextCommand { retry(state.withLock { $0.batches }) }

    private func retry(_ batches: [Int64]) -> NextCommand {
        let work = work
        let retries = batches.map { batch in
            NextCommand("retry", repeating: arguments, only: ["database"], operands: ["\(batch)"])
        }
        return NextCommand(retries + [work])
    }

    /// The command that cancels the rest of a batch.
    func cancel(_ batch: String) -> NextCommand {
        NextCommand("cancel", repeating: arguments, only: ["database"], operands: [batch])
    }

    /// The options of `work`, except those for duration and output.
    private static let workNames = Set(Command.work.options.map(\.name)).subtracting([
        "drain", "quiet", "max-runtime", "log-format", "log-level",
    ]).union(["config"])
}

extension NextCommand {
    /// Commands chained with `&&`.
    init(_ commands: [NextCommand]) {
        text = commands.map(\.text).joined(separator: " && ")
        hidesSecret = commands.contains(where: \.hidesSecret)
    }
}
