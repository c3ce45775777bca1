import CommandLine
import JobQueue
import Terminal

/// Remedies for an unknown pipeline, queue, batch or schedule.
enum UnknownName {
    private enum Kind: String {
        case pipeline, queue, batch, schedule

        init?(_ error: any Error) {
            switch (error as? QueueError)?.code {
            case .some(.unknownPipeline): self = .pipeline
            case .some(.unknownQueue): self = .queue
            case .some(.unknownBatch): self = .batch
            case .some(.unknownSchedule): self = .schedule
            default: return nil
            }
        }

        /// The command that lists all names.
        var list: String {
            switch self {
            case .batch: "'larder status' shows the newest"
            case .pipeline: "'larder pipeline list' shows all"
            case .queue, .schedule: "'larder status --\(rawValue)s' shows all"
            }
        }

        /// Empty if they cannot be read; the newest batches.
        func names(in queue: PostgresJobQueue) async -> [String] {
            switch self {
            case .pipeline: await UnknownName.pipelines(in: queue)
            case .queue: ((try? await queue.reports.queues()) ?? []).map(\.name)
            case .batch: ((try? await queue.reports.progress(limit: 1_000, isDetailed: false)) ?? []).compactMap(\.name)
            case .schedule: ((try? await queue.reports.schedules()) ?? []).map(\.name)
            }
        }
    }

    /// The nearest name, the command that lists all, and the command that creates a queue; nil for other errors.
    static func remedy(_ error: any Error, _ arguments: Arguments) async -> String? {
        guard let kind = Kind(error) else { return nil }
        let operand = arguments.operandBytes.first.map { String(decoding: $0, as: UTF8.self) }
        let given = (try? arguments.value(kind.rawValue)) ?? operand ?? ""
        var remedy = kind.list
        if kind == .queue { remedy += "; to create it: larder queue set \(ShellWord.quoted(given))" }
        // A number is not misspelt.
        guard Int64(given) == nil, let queue = try? await Settings(arguments).openQueue() else { return remedy }
        let names = await kind.names(in: queue)
        await queue.close()
        let near = NearestWord.to(given, among: names)
        return near.map { "did you mean '\(PrintableText.text($0))'? \(remedy)" } ?? remedy
    }

    /// Empty if they cannot be read.
    static func pipelines(in queue: PostgresJobQueue) async -> [String] {
        ((try? await queue.reports.pipelines()) ?? []).map(\.name)
    }
}
