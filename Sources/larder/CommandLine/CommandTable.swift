/// Every command of the program, grouped and ordered as the help lists them.
enum CommandTable {
    static let groups: [(title: String, commands: [Command])] = [
        ("jobs", [.run, .enqueue, .work]),
        ("batches", [.status, .report, .cancel, .pause, .resume, .retry, .discard, .prioritize]),
        (
            "cache",
            [
                .cachePath, .cacheKey, .cacheStat, .cacheList, .cacheVerify, .cacheTrim, .cacheClear, .cacheShare,
                .cacheExport, .cacheImport, .cacheTable, .cacheMap,
            ]
        ),
        ("images", [.key, .sniff, .transform, .plan, .fetch]),
        (
            "operations",
            [
                .migrate, .check, .doctor, .blocklistList, .blocklistAdd, .blocklistRemove, .blocklistClear,
                .blocklistImport, .queueList, .queueLimit, .scheduleList,
                .scheduleSet, .schedulePause, .scheduleResume, .scheduleRun, .scheduleRemove, .originList, .originHold,
                .originClear, .pipelineList,
                .pipelineShow, .pipelineSet, .databaseStart, .databaseStop, .databaseStatus, .databaseUpgrade,
                .databaseURL, .benchQueue, .chaos,
            ]
        ),
    ]

    static let all = groups.flatMap(\.commands)

    static let commonOptions = [
        Option("json", "print results as JSON, one object a line"),
        Option("help", short: "h", "show this help"),
    ]

    /// The command that `words` begin with, and the words after it.
    ///
    /// - Throws: wrong usage, naming the word that is not a command.
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
        throw .usage("'\(text.first ?? "")' is not a command; 'larder help' lists the commands")
    }
}
