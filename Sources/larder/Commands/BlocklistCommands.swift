import ImageModel
import JobQueue

extension Command {
    private static let blockOptions = [
        Option("for", .value("DURATION"), "how long, default 1d; a block that lasts longer already keeps its end"),
        Option("reason", .value("TEXT"), "why, as list shows it"),
        Settings.databaseOption,
    ]

    static let blocklistList = Command(
        words: ["blocklist", "list"], operands: "",
        summary: "The URLs that are blocked, until when and why",
        options: [Settings.databaseOption]
    ) { arguments in
        let json = arguments.flag("json")
        let queue = try await Settings(arguments).openQueue()
        var cursor = BlocklistCursor.start
        while true {
            let page = try await queue.blocklist(after: cursor)
            for blocked in page {
                if json {
                    try Console.json(BlockedLine(blocked))
                } else {
                    Console.line("\(blocked.until)\t\(FailureLine.text(blocked.url, blocked.error))")
                }
            }
            guard let last = page.last else { return .done }
            cursor = last.cursor
        }
    }

    static let blocklistAdd = Command(
        words: ["blocklist", "add"], operands: "URL...",
        summary: "Block URLs: enqueue answers 'blocked' for them, unless with RetryFailed",
        discussion: "Jobs that are in the queue already go on.",
        examples: ["larder blocklist add https://example.com/a.jpg --for 7d --reason 'asked for by legal'"],
        options: blockOptions
    ) { arguments in
        let block = try BlockTerms(arguments)
        let urls = try BlockableURL.operands(of: arguments, "blocklist add")
        for url in urls where !BlockableURL.isURL(url) {
            throw CommandError.usage("blocklist add: '\(ShownURL.text(url))' is no http or https URL")
        }
        let queue = try await Settings(arguments).openQueue()
        for start in stride(from: 0, to: urls.count, by: PostgresJobQueue.mostBlockedURLs) {
            try await block.add(Array(urls[start...].prefix(PostgresJobQueue.mostBlockedURLs)), to: queue)
        }
        for url in urls { try URLLine(url: url, blocked: true).show(arguments, "blocked") }
        return .done
    }

    static let blocklistRemove = Command(
        words: ["blocklist", "remove"], operands: "URL...",
        summary: "Take URLs from the blocklist and forget their failures",
        discussion: "A URL that was not blocked is told; the exit code is then 1.",
        options: [Settings.databaseOption]
    ) { arguments in
        let urls = try BlockableURL.operands(of: arguments, "blocklist remove")
        let queue = try await Settings(arguments).openQueue()
        var missing = 0
        for url in urls {
            let wasBlocked = try await queue.unblock(url)
            if !wasBlocked { missing += 1 }
            if wasBlocked || arguments.flag("json") {
                try URLLine(url: url, removed: wasBlocked).show(arguments, "removed")
            } else {
                Console.note("larder: \(ShownURL.text(url)): is not blocked")
            }
        }
        return missing == 0 ? .done : .failed
    }

    static let blocklistClear = Command(
        words: ["blocklist", "clear"], operands: "",
        summary: "Empty the blocklist",
        options: [Settings.databaseOption]
    ) { arguments in
        let removed = try await Settings(arguments).openQueue().unblockAll()
        if arguments.flag("json") {
            try Console.json(["removed": removed])
        } else {
            Console.line("\(removed.counted("URL")) removed")
        }
        return .done
    }

    static let blocklistImport = Command(
        words: ["blocklist", "import"], operands: "FILE|-",
        summary: "Block the URLs of a file, one a line; - is standard input",
        discussion: """
            A line that is no http or https URL is told with its number and never stops the others; the exit code is
            then 1.
            """,
        options: blockOptions
    ) { arguments in
        let block = try BlockTerms(arguments)
        let operands = try arguments.operands()
        guard operands.count == 1 else {
            throw CommandError.usage("blocklist import: which FILE? One; '-' is standard input")
        }
        var lines = try LineReader(operands[0])
        let name = operands[0] == "-" ? "standard input" : operands[0]
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
                let beginning = ShownURL.text(String(decoding: line.prefix(60), as: UTF8.self))
                let reason = line.count > BlockableURL.longest ? "longer than 8192 bytes" : "no http or https URL"
                Console.note("larder: \(name), line \(lines.number): \(reason): \(LogValue.oneLine(beginning))")
            }
            if line == nil || chunk.count == PostgresJobQueue.mostBlockedURLs {
                blocked += try await block.add(chunk, to: queue)
                chunk = []
            }
            if line == nil { break }
        }
        if arguments.flag("json") {
            try Console.json(["blocked": blocked, "refused": refused])
        } else {
            Console.line(
                "\(blocked.counted("URL")) blocked" + (refused > 0 ? ", \(refused.counted("line")) refused" : ""))
        }
        return refused == 0 ? .done : .failed
    }
}

/// One URL after something was done to it.
private struct URLLine: Encodable {
    let url: String
    let blocked: Bool?
    let removed: Bool?

    init(url: String, blocked: Bool? = nil, removed: Bool? = nil) {
        self.url = ShownURL.text(url)
        self.blocked = blocked
        self.removed = removed
    }

    func show(_ arguments: Arguments, _ what: String) throws {
        if arguments.flag("json") { try Console.json(self) } else { Console.line("\(what): \(url)") }
    }
}

/// One blocked URL.
private struct BlockedLine: Encodable {
    let url: String
    let until: String
    let failures: Int
    let domain: String
    let code: Int
    let message: String
    let httpStatus: Int?

    init(_ blocked: BlockedURL) {
        url = ShownURL.text(blocked.url)
        until = blocked.until
        failures = blocked.failures
        domain = blocked.error.domain
        code = blocked.error.code
        message = blocked.error.message
        httpStatus = blocked.httpStatus
    }
}
