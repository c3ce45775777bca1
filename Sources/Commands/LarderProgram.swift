package import CommandLine
import JobQueue
import Monitoring
import Terminal

extension Program {
    /// `larder`.
    package static let larder = Program(
        .larder, settingsCommand: Command.configCheck.words,
        willParse: { command, words, environment in
            if command.words == Command.work.words { EventLog(unparsed: words, environment: environment)?.takeNotes() }
        },
        willRun: { command, arguments in
            // An unknown format is an error of the command itself.
            if command.words == Command.work.words { try? EventLog(arguments).takeNotes() }
        },
        remedy: { error, command, arguments in
            if let remedy = await UnknownName.remedy(error, arguments) { return remedy }
            if let error = error as? QueueError, error.code == .notMigrated {
                let migrate = NextCommand("migrate", repeating: arguments, only: ["database", "config"])
                return "this migrates it: \(migrate.line)"
            }
            let login = RequiredRole.login((try? Settings(arguments))?.databaseURL)
            return RequiredRole.remedy(error, of: command, login: login)
        })
}

extension CommandTable {
    static let larder: CommandTable = CommandTable(
        program: "larder", version: Larder.version,
        summary: "prefetches images, makes their variants, and stores them in SDWebImage's disk layout",
        description: (
            short: "prefetch images and make variants of them",
            long: "Prefetches images, makes their variants, and stores them in SDWebImage's disk layout."
        ),
        groups: [
            ("jobs", [.run, .enqueue, .work]),
            ("batches", [.status, .report, .cancel, .pause, .resume, .retry, .discard, .prioritize]),
            (
                "cache",
                [
                    .cacheStat, .cacheList, .cacheVerify, .cacheTrim, .cacheRemove,
                    .cacheExport, .cacheImport, .cacheCopy,
                ]
            ),
            ("pictures", [.path, .sniff, .transform, .fetch]),
            (
                "operations",
                [
                    .serve, .migrate, .check, .doctor, .configShow, .configCheck, .blocklistList, .blocklistAdd,
                    .blocklistRemove, .queueSet, .originSet, .scheduleSet, .scheduleRemove, .pipelineList,
                    .pipelineShow, .pipelineSet, .databaseStart, .databaseStop, .databaseStatus, .databaseURL,
                    .manual(of: "larder") { .larder },
                ]
            ),
        ],
        usualCommands: [
            "run", "enqueue", "work", "status", "report", "cancel", "retry", "cache list", "path", "fetch", "serve",
            "doctor",
        ],
        usualOptions: [
            "from", "output", "pipeline", "variant", "batch", "drain", "max-runtime", "priority", "slots", "cache",
            "database", "allow-address", "transcoders", "grace", "log-format", "queue", "at", "format", "options",
            "retries", "contact", "robots", "proxy", "max-body", "watch", "health", "queues", "origins", "schedules",
            "metrics",
        ],
        subjects: [
            OptionGroup(title: "downloads", options: Limits.fetchOptions),
            OptionGroup(title: "origins", options: Limits.originOptions),
            OptionGroup(title: "images", options: Limits.transcodeOptions),
            OptionGroup(title: "the cache", options: StoreOptions.options + ExpiryOptions.work),
            OptionGroup(title: "a bucket as the cache", options: ObjectStoreOptions.options),
        ],
        settings: .larder,
        variables: ["LARDER_TRANSCODER", "LARDER_HOME", "LARDER_DATABASE_URL", "LARDER_CONFIG"])
}
