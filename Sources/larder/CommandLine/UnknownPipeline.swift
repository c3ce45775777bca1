import JobQueue

/// What to do about the name of a pipeline that does not exist.
enum UnknownPipeline {
    /// The nearest name and the command that lists all; nil for another error.
    static func remedy(_ error: any Error, _ arguments: Arguments) async -> String? {
        guard (error as? QueueError)?.code == .unknownPipeline else { return nil }
        let operand = arguments.operandBytes.first.map { String(decoding: $0, as: UTF8.self) }
        let given = (try? arguments.value("pipeline")) ?? operand ?? ""
        guard let queue = try? await Settings(arguments).openQueue() else { return list }
        let near = NearestWord.to(given, among: await names(in: queue))
        await queue.close()
        return near.map { "did you mean '\($0)'? \(list)" } ?? list
    }

    /// The names that there are; empty when they cannot be read.
    static func names(in queue: PostgresJobQueue) async -> [String] {
        ((try? await queue.pipelines()) ?? []).map(\.name)
    }

    private static let list = "'larder pipeline list' shows all"
}
