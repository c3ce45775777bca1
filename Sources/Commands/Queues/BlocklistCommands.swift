import CommandLine
import Dashboard
import ImageModel
import JobQueue
import Reports
import Terminal

extension Command {
    static let blocklistList = Command(
        words: ["blocklist", "list"], also: ["blocklist ls": ""], operands: "",
        summary: "List blocked URLs with the end and the reason of each block",
        examples: ["larder blocklist list --json"],
        options: [Settings.databaseOption]
    ) { arguments in
        let queue = try await Settings(arguments).openQueue()
        var cursor = BlocklistCursor.start
        while true {
            let page = try await queue.reports.blocklist(after: cursor)
            for blocked in page {
                try Console.show(
                    blocked.json, arguments, "\(blocked.until)\t\(FailureLine.text(blocked.url, blocked.error))")
            }
            guard let last = page.last else { return .done }
            cursor = last.cursor
        }
    }

    static let blocklistAdd = Command(
        words: ["blocklist", "add"], operands: "[URL]...",
        summary: "Block URLs: 'enqueue' answers 'blocked' for them",
        discussion: """
            Jobs that are already in the queue continue. --from reads a URL a line. Empty lines and lines that begin with #
            are skipped. Other lines that are not http or https URLs are reported with their number and skipped; the exit
            code is then 1.
            """,
        examples: [
            "larder blocklist add https://example.com/a.jpg --for 7d --reason 'legal request'",
            "larder blocklist add --from blocked.txt --for 30d",
        ],
        options: [
            Option("from", .value("FILE"), "block the URLs of a file, one a line; - is standard input"),
            Option("for", .value("DURATION"), "how long, default 1d; a longer block that exists is kept"),
            Option("reason", .value("TEXT"), "the reason that 'blocklist list' shows"),
            Settings.databaseOption,
        ]
    ) { arguments in
        let block = try BlockRequest(arguments)
        if arguments.isGiven("from"), let path = try arguments.value("from") {
            guard arguments.operandBytes.isEmpty else {
                throw CommandError.usage("blocklist add: URLs and --from exclude each other")
            }
            return try await block.add(from: path, arguments)
        }
        let urls = try BlockableURL.operands(of: arguments, "blocklist add")
        for url in urls where !BlockableURL.isURL(url) {
            throw CommandError.usage("blocklist add: '\(ShownURL.masked(url))' is not an http or https URL")
        }
        let queue = try await Settings(arguments).openQueue()
        for start in stride(from: 0, to: urls.count, by: PostgresJobQueue.Operations.maxBlockedURLs) {
            try await block.add(Array(urls[start...].prefix(PostgresJobQueue.Operations.maxBlockedURLs)), to: queue)
        }
        for url in urls {
            let line: JSONObject = ["url": ShownURL.text(url), "blocked": true]
            try Console.show(line, arguments, "blocked: \(ShownURL.masked(url))")
        }
        return .done
    }

    static let blocklistRemove = Command(
        words: ["blocklist", "remove"], also: ["blocklist clear": "--all"], operands: "[URL]...",
        summary: "Remove URLs from the blocklist together with their failure counts",
        discussion: "The exit code is 1 when a URL was not blocked.",
        examples: ["larder blocklist remove https://example.com/a.jpg", "larder blocklist remove --all --yes"],
        options: [
            Option("all", "remove all URLs, after confirmation"), Confirmation.option, Settings.databaseOption,
        ]
    ) { arguments in
        if arguments.isGiven("all") {
            if let operand = try arguments.operands().first {
                throw CommandError.usage("blocklist remove: '\(ShownURL.masked(operand))' and --all exclude each other")
            }
            try Confirmation.ask("remove all URLs from the blocklist", arguments, of: "blocklist remove --all")
            let removed = try await Settings(arguments).openQueue().operations.unblockAll()
            try Console.show(["removed": removed], arguments, "\(removed.counted("URL")) removed")
            return .done
        }
        let urls = try BlockableURL.operands(of: arguments, "blocklist remove")
        let queue = try await Settings(arguments).openQueue()
        var result = ExitCode.done
        for url in urls {
            let wasBlocked = try await queue.operations.unblock(url)
            if !wasBlocked { result = .failed }
            if wasBlocked || arguments.flag("json") {
                let line: JSONObject = ["url": ShownURL.text(url), "removed": wasBlocked]
                try Console.show(line, arguments, "removed: \(ShownURL.masked(url))")
            } else {
                Console.note("larder: \(ShownURL.masked(url)) is not blocked")
            }
        }
        return result
    }
}
