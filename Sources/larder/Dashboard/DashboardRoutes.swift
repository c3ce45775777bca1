import ImageModel
import JobQueue

extension DashboardRoute {
    /// All operations, in the order of the documentation.
    static let all = reading + changes

    private static let reading: [DashboardRoute] = [
        get(
            "overview", "The key figures of all queues; `rate` in items per second, the others of `day` of 24 hours.",
            [("overview", .object(overview))]
        ) { call in
            ["overview": try await call.queue.overview().json]
        },
        get(
            "batches", "The newest batches.", arguments: [.optionalNumber("limit")], [("batches", .lines(of: "status"))]
        ) { call in
            let limit = try call.number("limit", in: 1...1_000, default: 50)
            return ["batches": try await call.queue.progress(limit: limit).map(\.json)]
        },
        get(
            "batches/{id}",
            "A batch, its 50 most frequent errors, and whether it has failures that were neither retried nor discarded.",
            [("batch", .line(of: "status")), ("errors", .objects(error)), ("hasFailures", .value("boolean"))]
        ) { call in
            let batch = try await call.queue.progress(of: .id(call.number))
            return [
                "batch": batch.json, "errors": try await call.queue.errors(of: batch.id).map(\.adviceJSON),
                "hasFailures": try await call.queue.hasFailures(batch.id),
            ]
        },
        get(
            "batches/{id}/failures", "A page of a batch's failures; `next` is the `after` of the next page.",
            arguments: [.optionalText("after"), .optionalNumber("limit")],
            [("failures", .objects(failure)), ("next", .value("string?"))]
        ) { call in
            let after = try call.number("after", in: Int.min...Int.max, default: 0)
            let limit = try call.number("limit", in: 1...1_000, default: 200)
            let page = try await call.queue.failures(
                of: call.number, after: after == 0 ? .start : Cursor(number: Int64(after)), limit: limit)
            let next = page.count < limit ? nil : page.last.map { "\($0.cursor.number)" }
            return ["failures": page.map(\.json), "next": next]
        },
        get(
            "batches/{id}/statistics",
            "What the newest \(jobsOfSample) jobs of a batch add to its counts, of the files those of the newest "
                + "\(jobsOfFiles); `jobs` are those looked at. Kept for five seconds.",
            lasting: .seconds(5),
            [("statistics", .schema { StatisticsJSON.schema }), ("previous", .schema { StatisticsJSON.previous })]
        ) { call in
            let progress = try await call.queue.progress(of: .id(call.number), isDetailed: false)
            return [
                "statistics": try await call.queue.sample(of: progress.id, jobs: jobsOfSample, files: jobsOfFiles).json,
                "previous": try await call.queue.previousRun(of: progress)?.json,
            ]
        },
        get(
            "failures",
            "The newest failures of all batches that were neither retried nor discarded, and match; `next` is the `after` of "
                + "the next page, which may be empty before the last one.",
            arguments: failureFilter + [.optionalText("after"), .optionalNumber("limit")],
            [("failures", .objects(found)), ("next", .value("string?"))]
        ) { call in
            let limit = try call.number("limit", in: 1...failuresOfPage, default: 100)
            let text = call.request.arguments["after"] ?? ""
            guard let after = text.isEmpty ? .start : FailurePage.Position(text: text) else {
                throw CommandError.usage("after: not the 'next' of a page")
            }
            let page = try await call.queue.failures(matching: try call.filter(), after: after, limit: limit)
            return ["failures": page.failures.map(\.json), "next": page.next?.text]
        },
        get(
            "batches/{id}/images",
            "The files of a batch's newest jobs that succeeded, at most of `limit` jobs, among at most 1,000; `next` is the "
                + "`after` of the next page, which may be empty before the last one.",
            arguments: [.optionalNumber("after"), .optionalNumber("limit")],
            [("images", .objects(image)), ("next", .value("string?"))]
        ) { call in
            let after = try call.number("after", in: 1...Int.max, default: .max)
            let limit = try call.number("limit", in: 1...200, default: 24)
            let page = try await call.queue.images(of: call.number, before: Int64(after), limit: limit)
            return ["images": page.images.map(\.json), "next": page.next.map { "\($0)" }]
        },
        get("queues", "The queues.", [("queues", .lines(of: "queue list"))]) { call in
            ["queues": try await call.queue.queues().map(\.json)]
        },
        get("workers", "The workers of the last day.", [("workers", .objects(worker))]) { call in
            ["workers": try await call.queue.workers().map(\.json)]
        },
        get(
            "workers/running", "What live workers do: the eight jobs that each holds longest.",
            [("running", .objects(running))]
        ) { call in
            ["running": try await call.queue.workersJobs().map(\.json)]
        },
        get(
            "running", "Jobs that run, at most `limit`.", arguments: [.optionalNumber("limit")],
            [("running", .objects(running))]
        ) { call in
            let limit = try call.number("limit", in: 1...1_000, default: 100)
            return ["running": try await call.queue.runningJobs(limit: limit).map(\.json)]
        },
        get("origins", "The origins that are held.", [("origins", .lines(of: "origin list"))]) { call in
            ["origins": try await call.queue.heldOrigins().map(\.json)]
        },
        get(
            "origins/active",
            "The origins of the newest 2,000 jobs that ended within an hour, the busiest 100; kept for five seconds.",
            lasting: .seconds(5), [("origins", .objects(activity))]
        ) { call in
            ["origins": try await call.queue.originActivity().map(\.json)]
        },
        get(
            "blocklist",
            "The first 1,000 blocked URLs; `given` is the URL with its signature, which a change names, or null where no "
                + "change is allowed.", [("blocklist", .objects(blocked))]
        ) { call in
            ["blocklist": try await call.queue.blocklist().map { $0.json(isNamed: call.allowsChanges) }]
        },
        get("schedules", "The schedules.", [("schedules", .lines(of: "schedule list"))]) { call in
            ["schedules": try await call.queue.schedules().map(\.json)]
        },
        get(
            "pipelines", "The newest version of each pipeline; `spec` is its JSON.",
            [("pipelines", .objects(["name": "string", "version": "integer", "spec": "string"]))]
        ) { call in
            let pipelines = try await call.queue.pipelines().map { pipeline -> JSONObject in
                ["name": pipeline.name, "version": pipeline.version, "spec": pipeline.spec]
            }
            return ["pipelines": pipelines]
        },
        get(
            "actions", "The newest changes made through the dashboard, at most `limit`.",
            arguments: [.optionalNumber("limit")],
            [("actions", .objects(action))]
        ) { call in
            let limit = try call.number("limit", in: 1...1_000, default: 200)
            return ["actions": try await call.queue.actions(limit: limit).map(\.json)]
        },
        get(
            "health", "What is wrong, worst first; kept for five seconds, because every page asks.",
            lasting: .seconds(5), [("findings", .lines(of: "health"))]
        ) { call in
            ["findings": try await HealthLine.all(of: call.queue).map(\.json)]
        },
        get(
            "history",
            "The last `minutes`, 60, 360 or 1,440, in slots of 1, 5 or 15 minutes; `open` at the end of each.",
            arguments: [.optionalNumber("minutes")], lasting: .seconds(5),
            [("seconds", .value("integer")), ("slots", .objects(slot))]
        ) { call in
            let minutes = try call.number("minutes", in: 60...1_440, default: 60)
            let length = minutes <= 60 ? 1 : minutes <= 360 ? 5 : 15
            let slots = try await call.queue.history(minutes: minutes, slot: length)
            return ["seconds": length * 60, "slots": slots.map(\.json)]
        },
        get(
            "throughput", "What ended in each of the last minutes.", arguments: [.optionalNumber("minutes")],
            [("throughput", .objects(minute))]
        ) { call in
            let minutes = try call.number("minutes", in: 1...1_440, default: 60)
            return ["throughput": try await call.queue.throughput(minutes: minutes).map(\.json)]
        },
    ]

    /// The most failures of a page, and of a change in bulk.
    static let failuresOfPage = 200
    /// The jobs that a sample of a batch looks at, and those whose files it reads, which takes longer.
    private static let jobsOfSample = 500, jobsOfFiles = 250
    static let failureFilter: [DashboardRoute.Field] = [
        .optionalNumber("batch"), .optionalText("domain"), .optionalNumber("code"), .optionalText("origin"),
        .optionalText("text"),
    ]

    private static let overview = [
        "open": "integer", "running": "integer", "liveWorkers": "integer", "rate": "number",
        "succeededInDay": "integer", "failedInDay": "integer",
    ]
    private static let error = [
        "domain": "string", "code": "integer", "items": "integer", "meaning": "string", "action": "string",
    ]
    private static let found = [
        "job": "integer?", "batchID": "integer", "batch": "string", "url": "string", "domain": "string",
        "code": "integer", "message": "string", "meaning": "string", "httpStatus": "integer?", "attempts": "integer",
        "finishedAt": "string",
    ]
    private static let activity = [
        "origin": "string", "jobs": "integer", "failed": "integer", "perMinute": "number", "fetchMs": "integer?",
        "bytesIn": "integer", "domain": "string?", "code": "integer?", "errors": "integer",
    ]
    private static let slot = [
        "at": "string", "enqueued": "integer", "succeeded": "integer", "failed": "integer", "cancelled": "integer",
        "bytesIn": "integer", "open": "integer",
    ]
    private static let failure = [
        "url": "string", "domain": "string", "code": "integer", "message": "string", "attempts": "integer",
        "meta": "object?",
    ]
    private static let blocked = [
        "url": "string", "given": "string?", "until": "string", "failures": "integer", "domain": "string",
        "code": "integer", "message": "string", "httpStatus": "integer?",
    ]
    private static let image = [
        "job": "integer", "url": "string", "variant": "string?", "key": "string", "format": "string?",
        "width": "integer?", "height": "integer?", "bytes": "integer?",
    ]
    private static let worker = [
        "worker": "string", "name": "string", "host": "string", "version": "string", "slots": "integer",
        "running": "integer", "state": "string", "startedAt": "string", "heartbeatAt": "string", "fault": "string?",
    ]
    private static let action = [
        "at": "string", "login": "string", "actor": "string?", "verb": "string", "target": "string?",
        "error": "string?",
    ]
    private static let running = [
        "job": "integer", "batchID": "integer", "batch": "string", "worker": "string", "workerName": "string?",
        "attempt": "integer", "seconds": "number", "url": "string",
    ]
    private static let minute = [
        "minute": "string", "enqueued": "integer", "succeeded": "integer", "failed": "integer",
        "cancelled": "integer", "bytesIn": "integer", "bytesOut": "integer",
    ]
}
