import CommandLine
import JobQueue
import Lists

/// Leaves out the items of lists whose pipeline does not exist: one of them would make the database refuse the call.
struct KnownPipelines {
    /// By name, whether it exists.
    private var known: [String: Bool] = [:]
    /// All names, read for the first that does not exist.
    private var names: [String]?

    /// Up to `count` items of the current list; empty at its end.
    mutating func next(
        _ count: Int, of source: inout URLSource, _ queue: PostgresJobQueue, _ bad: BadLines
    ) async throws -> [ListItem] {
        while true {
            let items = try await source.next(count)
            var good: [ListItem] = []
            good.reserveCapacity(items.count)
            for item in items {
                if let name = item.settings.pipeline, try await !exists(name, in: queue) {
                    if names == nil { names = await UnknownName.pipelines(in: queue) }
                    let near = NearestWord.question(name, among: names ?? [])
                    let line = BadLine(line: item.line, message: "unknown pipeline '\(name)'\(near)")
                    try bad.add(line, of: source.list ?? "")
                } else {
                    good.append(item)
                }
            }
            if !good.isEmpty || items.isEmpty { return good }
        }
    }

    private mutating func exists(_ name: String, in queue: PostgresJobQueue) async throws(QueueError) -> Bool {
        if let answer = known[name] { return answer }
        let answer: Bool
        do throws(QueueError) {
            _ = try await queue.reports.pipeline(named: name)
            answer = true
        } catch {
            guard error.code == .unknownPipeline else { throw error }
            answer = false
        }
        // A list of a million names must not fill the memory.
        if known.count < 10_000 { known[name] = answer }
        return answer
    }
}
