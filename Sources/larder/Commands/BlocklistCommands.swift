import JobQueue

extension Command {
    private static let blockOptions = [
        Option("for", .value("TIME"), "how long, default 1d; a block that lasts longer already keeps its end"),
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
        options: blockOptions
    ) { arguments in
        let block = try Block(arguments)
        let urls = try urls(of: arguments, "blocklist add")
        let queue = try await Settings(arguments).openQueue()
        for start in stride(from: 0, to: urls.count, by: PostgresJobQueue.mostBlockedURLs) {
            try await block.add(Array(urls[start...].prefix(PostgresJobQueue.mostBlockedURLs)), to: queue)
        }
        for url in urls {
            if arguments.flag("json") {
                try Console.json(URLLine(url: ShownURL.text(url), blocked: true))
            } else {
                Console.line("blocked: \(ShownURL.text(url))")
            }
        }
        return .done
    }

    static let blocklistRemove = Command(
        words: ["blocklist", "remove"], operands: "URL...",
        summary: "Take URLs from the blocklist and forget their failures",
        discussion: "A URL that was not blocked is told; the exit code is then 1.",
        options: [Settings.databaseOption]
    ) { arguments in
        let urls = try urls(of: arguments, "blocklist remove")
        let queue = try await Settings(arguments).openQueue()
        var missing = 0
        for url in urls {
            let wasBlocked = try await queue.unblock(url)
            if !wasBlocked { missing += 1 }
            if arguments.flag("json") {
                try Console.json(URLLine(url: ShownURL.text(url), removed: wasBlocked))
            } else if wasBlocked {
                Console.line("removed: \(ShownURL.text(url))")
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
            Console.line("\(removed) URLs removed")
        }
        return .done
    }

    static let blocklistImport = Command(
        words: ["blocklist", "import"], operands: "FILE|-",
        summary: "Block the URLs of a file, a line each",
        discussion: "A line that can be no URL is told and never stops the others; the exit code is then 1.",
        options: blockOptions
    ) { arguments in
        let block = try Block(arguments)
        let operands = try arguments.operands()
        guard operands.count == 1 else {
            throw CommandError.usage("blocklist import: which FILE? '-' is standard input")
        }
        var lines = try LineReader(operands[0])
        let queue = try await Settings(arguments).openQueue()
        var blocked = 0
        var refused = 0
        var chunk: [String] = []
        while true {
            let line = try lines.next()
            if let line, let url = String(validating: line, as: UTF8.self), url.utf8.count <= 8192 {
                chunk.append(url)
            } else if let line {
                refused += 1
                let beginning = String(decoding: line.prefix(60), as: UTF8.self)
                Console.note("larder: \(ShownURL.text(beginning)): longer than 8192 bytes, or not UTF-8")
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
            Console.line("\(blocked) URLs blocked" + (refused > 0 ? ", \(refused) lines refused" : ""))
        }
        return refused == 0 ? .done : .failed
    }

    private static func urls(of arguments: Arguments, _ command: String) throws(CommandError) -> [String] {
        let urls = try arguments.operands()
        guard !urls.isEmpty else { throw .usage("\(command): which URLs?") }
        for url in urls where url.isEmpty || url.utf8.count > 8192 {
            throw .usage("\(command): a URL has 1 to 8192 bytes, not \(url.utf8.count)")
        }
        return urls
    }
}

/// How `add` and `import` block.
private struct Block {
    let time: Duration
    let reason: String?

    init(_ arguments: Arguments) throws(CommandError) {
        time = try arguments.duration("for") ?? .seconds(86_400)
        guard time > .zero else { throw .usage("--for: a block lasts for some time") }
        reason = try arguments.value("reason")
    }

    @discardableResult
    func add(_ urls: [String], to queue: PostgresJobQueue) async throws -> Int {
        try await queue.block(urls, for: time, reason: reason)
    }
}

/// One URL after something was done to it.
private struct URLLine: Encodable {
    let url: String
    var blocked: Bool?
    var removed: Bool?
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
