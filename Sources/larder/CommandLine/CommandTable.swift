/// Every command of the program, grouped and ordered as the help lists them.
enum CommandTable {
    static let groups: [(title: String, commands: [Command])] = [
        ("jobs", [.run, .enqueue, .work]),
        ("batches", [.status, .report, .cancel, .pause, .resume, .retry, .discard, .delete, .prioritize]),
        (
            "cache",
            [
                .cachePath, .cacheStat, .cacheList, .cacheVerify, .cacheTrim, .cacheClear, .cacheShare,
                .cacheExport, .cacheImport, .cacheCopy, .cacheTable, .cacheMap,
            ]
        ),
        ("pictures", [.key, .sniff, .transform, .fetch]),
        (
            "operations",
            [
                .serve, .migrate, .health, .metrics, .check, .doctor, .configShow, .configCheck, .blocklistList,
                .blocklistAdd,
                .blocklistRemove,
                .blocklistClear,
                .blocklistImport, .queueList, .queueLimit, .scheduleList,
                .scheduleSet, .schedulePause, .scheduleResume, .scheduleRun, .scheduleRemove, .originList, .originHold,
                .originClear, .pipelineList,
                .pipelineShow, .pipelineSet, .databaseStart, .databaseStop, .databaseStatus, .databaseUpgrade,
                .databaseURL, .benchQueue, .benchFleet, .chaos, .manual, .completion,
            ]
        ),
    ]

    static let all = groups.flatMap(\.commands)

    static let commonOptions = [
        Option("json", "print results as JSON, one object a line"),
        Option(
            "config", .value("FILE"),
            "the configuration file; default: /etc/larder/larder.toml, then LARDER_HOME/larder.toml"),
        Option("help", short: "h", "show this help"),
        Option("help-all", "show this help with all options"),
    ]

    /// The variables that are settings.
    static let settings = Set((all.flatMap(\.options) + commonOptions.prefix(1)).map(\.variable))
        .union(["LARDER_HOME", "LARDER_DATABASE_URL", "LARDER_CONFIG", "LARDER_CHAOS_NAMESPACE"])

    /// The command that `words` begin with, and the words after it. `--json` may precede the command.
    ///
    /// - Throws: wrong usage, naming the word that is not a command.
    static func find(_ words: [[UInt8]]) throws(CommandError) -> (Command, [[UInt8]]) {
        let leading = words.prefix { $0 == Array("--json".utf8) }
        let words = words.dropFirst(leading.count)
        let text = words.map { String(decoding: $0, as: UTF8.self) }
        let matching = all.filter { text.starts(with: $0.words) }
        if let command = matching.max(by: { $0.words.count < $1.words.count }) {
            return (command, Array(leading) + words.dropFirst(command.words.count))
        }
        let family = all.filter { $0.words.count > 1 && $0.words.first == text.first }
        if let first = text.first, !family.isEmpty {
            let choices = family.map { $0.words[1] }
            let question = text.dropFirst().first.map { NearestWord.question($0, among: choices, prefix: "\(first) ") }
            throw .usage("'larder \(first)' needs one of: \(choices.joined(separator: ", "))\(question ?? "")")
        }
        if let option = text.first, option.hasPrefix("-") {
            throw .usage("'\(option)' precedes the command: larder COMMAND [OPTION]... [ARGUMENT]...")
        }
        throw .usage("\(unknown(text.first ?? "")); 'larder help' lists the commands")
    }

    /// What is wrong with a word that is not a command.
    static func unknown(_ word: String) -> String {
        "'\(word)' is not a command" + NearestWord.question(word, among: all.map { $0.words[0] } + ["help", "version"])
    }
}
