import CommandLine
import Dashboard
import ImageModel
import JobQueue
import Reports
import Terminal

extension Command {
    private static let blockOptions = [
        Option("for", .value("DURATION"), "how long, default 1d; a longer block that exists is kept"),
        Option("reason", .value("TEXT"), "the reason that 'blocklist list' shows"),
        Settings.databaseOption,
    ]

    static let blocklistList = Command(
        words: ["blocklist", "list"], operands: "",
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
        words: ["blocklist", "add"], operands: "URL...",
        summary: "Block URLs: 'enqueue' answers 'blocked' for them",
        discussion: "Jobs that are already in the queue continue.",
        examples: ["larder blocklist add https://example.com/a.jpg --for 7d --reason 'legal request'"],
        options: blockOptions
    ) { arguments in
        let block = try BlockRequest(arguments)
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
        words: ["blocklist", "remove"], operands: "URL...",
        summary: "Remove URLs from the blocklist together with their failure counts",
        discussion: "The exit code is 1 when a URL was not blocked.",
        examples: ["larder blocklist remove https://example.com/a.jpg"],
        options: [Settings.databaseOption]
    ) { arguments in
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

    static let blocklistClear = Command(
        words: ["blocklist", "clear"], operands: "",
        summary: "Remove all URLs from the blocklist",
        examples: ["larder blocklist clear --yes"],
        options: [Confirmation.option, Settings.databaseOption]
    ) { arguments in
        try Confirmation.ask("remove all URLs from the blocklist", arguments, of: "blocklist clear")
        let removed = try await Settings(arguments).openQueue().operations.unblockAll()
        try Console.show(["removed": removed], arguments, "\(removed.counted("URL")) removed")
        return .done
    }

    static let blocklistImport = Command(
        words: ["blocklist", "import"], operands: "FILE|-",
        summary: "Block the URLs of a file, one a line; - is standard input",
        discussion: """
            Empty lines and lines that begin with # are skipped. Other lines that are not http or https URLs are reported
            with their number and skipped; the exit code is then 1.
            """,
        examples: ["larder blocklist import blocked.txt --for 30d"],
        options: blockOptions
    ) { arguments in
        let block = try BlockRequest(arguments)
        let path = try arguments.operand("FILE", of: "blocklist import")
        var lines = try LineReader(path, hasComments: true)
        let name = path == "-" ? "standard input" : path
        let queue = try await Settings(arguments).openQueue()
        var blocked = 0
        var refused = 0
        var chunk: [String] = []
        while true {
            let line = try await lines.next()
            if let line, let url = String(validating: line, as: UTF8.self), BlockableURL.isURL(url) {
                chunk.append(url)
            } else if let line {
                refused += 1
                let start = ShownURL.masked(String(decoding: line.prefix(60), as: UTF8.self))
                let reason = line.count > BlockableURL.limit ? "longer than 8192 bytes" : "not an http or https URL"
                Console.note("larder: \(name), line \(lines.number): \(reason): \(LogValue.oneLine(start))")
            }
            if line == nil || chunk.count == PostgresJobQueue.Operations.maxBlockedURLs {
                blocked += try await block.add(chunk, to: queue)
                chunk = []
            }
            if line == nil { break }
        }
        try Console.show(
            ["blocked": blocked, "refused": refused], arguments,
            "\(blocked.counted("URL")) blocked" + (refused > 0 ? ", \(refused.counted("line")) refused" : ""))
        return refused == 0 ? .done : .failed
    }
}
