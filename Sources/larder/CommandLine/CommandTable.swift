/// Every command of the program, in the order the help shows them.
enum CommandTable {
    static let all: [Command] = [
        .run, .enqueue, .work, .status, .report, .migrate,
        .cancel, .pause, .resume, .retry, .drop, .prioritize, .check,
        .blocklistList, .blocklistAdd, .blocklistRemove, .blocklistClear, .blocklistImport,
        .originList, .originHold, .originClear,
        .pipelineList, .pipelineShow, .pipelineSet,
        .cachePath, .cacheKey, .cacheStat, .cacheList, .cacheVerify, .cacheTrim, .cacheClear, .cacheShare,
        .cacheExport, .cacheImport, .cacheTable, .cacheMap,
        .key, .sniff, .transform, .plan, .fetch, .doctor, .benchQueue, .benchDrain, .benchFetch,
        .databaseStart, .databaseStop, .databaseStatus, .databaseURL,
    ]

    /// What every command takes.
    static let commonOptions = [
        Option("json", "print results as JSON, one object a line"),
        Option("help", short: "h", "show this help"),
    ]

    /// The command that `words` begin with, and the words after it.
    ///
    /// - Throws: wrong usage naming the word that is no command.
    static func find(_ words: [[UInt8]]) throws(CommandError) -> (Command, [[UInt8]]) {
        let text = words.map { String(decoding: $0, as: UTF8.self) }
        let matching = all.filter { text.starts(with: $0.words) }
        if let command = matching.max(by: { $0.words.count < $1.words.count }) {
            return (command, Array(words.dropFirst(command.words.count)))
        }
        let family = all.filter { $0.words.count > 1 && $0.words.first == text.first }
        if let first = text.first, !family.isEmpty {
            let choices = family.map { $0.words[1] }.joined(separator: ", ")
            throw .usage("'larder \(first)' needs one of: \(choices)")
        }
        throw .usage("'\(text.first ?? "")' is no command; 'larder help' lists them")
    }
}
