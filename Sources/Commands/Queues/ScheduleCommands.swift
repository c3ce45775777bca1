import CommandLine
import ImageModel
import JobQueue
import Lists
import Reports
import Terminal
import Worker

/// Lists and queries that workers enqueue at set times.
extension Command {
    static let scheduleSet = Command(
        words: ["schedule", "set"], operands: "NAME [URL]...",
        summary: "Create or replace a schedule: URLs that workers enqueue by the clock",
        discussion: """
            --cron has the five fields minute, hour, day, month and weekday, or @hourly, @daily, @weekly, @monthly; L as the
            day is the last day of the month. Each run is a new run of batch NAME and is enqueued once by any worker; no
            cron and no CronJob is needed. A run waits for the end of the one before, and one that is late is made once.
            The URLs are operands, lists of --from, which are stored in the database, or the rows of --query: a SELECT
            with a column url and any of priority, pipeline, at, name and meta. The query runs with the rights of the
            role larder_schedule: grant it SELECT, and qualify the names of tables.
            """,
        examples: [
            "larder schedule set nightly --cron '0 2 * * *' --time-zone Europe/Berlin --from urls.txt",
            "larder schedule set products --cron '*/30 * * * *' --query 'SELECT image_url AS url FROM shop.product'",
        ],
        options: [
            Option("cron", .value("EXPR"), "when: minute hour day month weekday, such as '0 2 * * *'"),
            Option("time-zone", .value("ZONE"), "the time zone of --cron, such as Europe/Berlin; default UTC"),
            Option("query", .value("SQL"), "the SELECT that yields the URLs of each run"),
        ] + EnqueueOptions.options(priority: 4).filter { $0.name != "batch" } + [
            Option(
                "fresh-for", .value("DURATION"),
                "leave out URLs stored in the cache within this time; default: never"),
            Settings.databaseOption,
        ] + ObjectStoreOptions.server
    ) { arguments in
        guard let name = try arguments.operands().first, !name.isEmpty else {
            throw CommandError.usage("schedule set: a NAME is required")
        }
        guard let cron = try arguments.value("cron") else {
            throw CommandError.usage("schedule set: --cron is required")
        }
        let query = try arguments.value("query")
        let options = try EnqueueOptions(arguments)
        guard options.template.notAfter == nil else {
            throw CommandError.usage("schedule set: --not-after: a schedule needs a delay after each run, such as +6h")
        }
        let bad = BadLines(json: arguments.flag("json"))
        var request = options.template
        request.freshFor = try arguments.duration("fresh-for")
        request.spec = options.adHoc?.canonicalJSON
        let hasURLs =
            try arguments.operandBytes.count > 1 || !arguments.list("from").isEmpty
            || !arguments.list("from-directory").isEmpty
        guard hasURLs != (query != nil) else {
            throw CommandError.usage("schedule set: either --query or URLs, --from and --from-directory are required")
        }
        guard hasURLs || !arguments.flag(AppURLs.option.name) else {
            throw CommandError.usage("schedule set: --escape-urls does not apply to the rows of --query")
        }
        if hasURLs { try await request.fill(arguments, bad, options.appURLs) }
        guard bad.count == 0 else {
            throw CommandError.larder(.badLine, "\(bad.count.counted("bad line")); the schedule is not set")
        }
        let next = try await Settings(arguments).openQueue(starting: true).operations.setSchedule(
            name, cron: cron, timeZone: try arguments.value("time-zone") ?? "UTC", query: query, request: request,
            onFinished: options.onFinished)
        try Console.show(
            ["name": name, "nextAt": next, "urls": query == nil ? request.urls.count : nil], arguments,
            "schedule \(PrintableText.text(name)): next at \(next)")
        return .done
    }

    static let scheduleRemove = Command(
        words: ["schedule", "remove"], operands: "NAME",
        summary: "Delete a schedule; its batches stay",
        examples: ["larder schedule remove nightly"],
        options: [Settings.databaseOption]
    ) { arguments in
        let name = try arguments.operand("NAME", of: "schedule remove")
        try await Settings(arguments).openQueue().operations.removeSchedule(name)
        let line: JSONObject = ["name": name, "result": "removed"]
        try Console.show(line, arguments, "schedule \(PrintableText.text(name)): removed")
        return .done
    }
}

extension EnqueueRequest {
    /// Maximum URLs of a schedule.
    private static let maxScheduledURLs = 200_000

    /// Reads the operands after the first one, and the lists.
    fileprivate mutating func fill(_ arguments: Arguments, _ bad: BadLines, _ appURLs: AppURLs) async throws {
        var appURLs = appURLs
        var source = try await URLSource(
            arguments, command: "schedule set", skipping: 1, bad: bad, until: ShutdownRequest())
        var items: [ListItem] = []
        repeat {
            while true {
                let more = try await source.next(EnqueueRequest.maxURLs)
                if more.isEmpty { break }
                items += appURLs.apply(to: more)
                guard items.count <= Self.maxScheduledURLs else {
                    throw CommandError.usage(
                        "schedule set: more than \(Self.maxScheduledURLs) URLs; --query can read them from a table")
                }
            }
        } while try await source.advance()
        urls = items.map(\.url)
        metas = items.contains { $0.meta != nil } ? items.map(\.meta) : []
        settings = items.contains { $0.settings != Settings() } ? items.map(\.settings) : []
    }
}

enum ScheduleLine {
    static func text(_ schedule: Schedule) -> String {
        var parts = ["\(schedule.cron) \(schedule.timeZone)"]
        parts.append(schedule.urls.map { $0.counted("URL") } ?? "query")
        if schedule.isPaused {
            parts.append("paused")
        } else if let batch = schedule.waitingFor {
            parts.append(
                "due since \(schedule.nextAt ?? "") and waits, \(schedule.lastError ?? ""): 'larder status \(batch)' "
                    + "shows it, 'larder cancel \(batch)' ends it")
        } else {
            parts.append(schedule.nextAt.map { "next at \($0)" } ?? "no next time yet")
        }
        if let at = schedule.lastAt {
            let result =
                (schedule.waitingFor == nil ? schedule.lastError : nil)
                ?? "\(Int(schedule.lastURLs ?? 0).counted("URL")) in batch \(schedule.lastBatch ?? 0)"
            parts.append("last at \(at): \(result)")
        }
        if schedule.missed > 0 { parts.append("\(Int(schedule.missed).counted("run")) missed") }
        return PrintableText.text("\(schedule.name): " + parts.joined(separator: ", "))
    }
}
