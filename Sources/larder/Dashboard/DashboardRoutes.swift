import ImageModel
import JobQueue

extension DashboardRoute {
    /// All operations, in the order of the documentation.
    static let all = reading + changes

    private static let reading: [DashboardRoute] = [
        get("batches", "The newest batches.", arguments: ["limit"], [("batches", .lines(of: "status"))]) { call in
            let limit = try call.number("limit", in: 1...1_000, default: 50)
            return ["batches": try await call.queue.progress(limit: limit).map(\.json)]
        },
        get("batches/{id}", "A batch with its first failures.", [("batch", .line(of: "report"))]) { call in
            ["batch": try await call.queue.report(on: .id(call.number)).json]
        },
        get(
            "batches/{id}/failures", "A page of a batch's failures; `next` is the `after` of the next page.",
            arguments: ["after", "limit"],
            [("failures", .objects(failure)), ("next", .value("integer?"))]
        ) { call in
            let after = try call.number("after", in: Int.min...Int.max, default: 0)
            let limit = try call.number("limit", in: 1...1_000, default: 100)
            let page = try await call.queue.failures(
                of: call.number, after: after == 0 ? .start : Cursor(number: Int64(after)), limit: limit)
            let next = page.count < limit ? nil : page.last.map { Int($0.cursor.number) }
            return ["failures": page.map(\.json), "next": next]
        },
        get(
            "batches/{id}/images", "The files of a batch's newest jobs that succeeded, at most of `limit` jobs.",
            arguments: ["limit"], [("images", .objects(image))]
        ) { call in
            let limit = try call.number("limit", in: 1...200, default: 24)
            return ["images": try await call.queue.images(of: call.number, limit: limit).map(\.json)]
        },
        get("queues", "The queues.", [("queues", .lines(of: "queue list"))]) { call in
            ["queues": try await call.queue.queues().map(\.json)]
        },
        get("workers", "The workers of the last day.", [("workers", .objects(worker))]) { call in
            ["workers": try await call.queue.workers().map(\.json)]
        },
        get(
            "running", "Jobs that run, at most `limit`.", arguments: ["limit"], [("running", .objects(running))]
        ) { call in
            let limit = try call.number("limit", in: 1...1_000, default: 100)
            return ["running": try await call.queue.runningJobs(limit: limit).map(\.json)]
        },
        get("origins", "The origins that are held.", [("origins", .lines(of: "origin list"))]) { call in
            ["origins": try await call.queue.heldOrigins().map(\.json)]
        },
        get("blocklist", "The first 1,000 blocked URLs.", [("blocklist", .lines(of: "blocklist list"))]) { call in
            ["blocklist": try await call.queue.blocklist().map(\.json)]
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
            "actions", "The newest changes made through the dashboard, at most `limit`.", arguments: ["limit"],
            [("actions", .objects(action))]
        ) { call in
            let limit = try call.number("limit", in: 1...1_000, default: 200)
            return ["actions": try await call.queue.actions(limit: limit).map(\.json)]
        },
        get("health", "What is wrong, worst first.", [("findings", .lines(of: "health"))]) { call in
            ["findings": try await HealthLine.all(of: call.queue).map(\.json)]
        },
        get(
            "throughput", "What ended in each of the last minutes.", arguments: ["minutes"],
            [("throughput", .objects(minute))]
        ) { call in
            let minutes = try call.number("minutes", in: 1...1_440, default: 60)
            return ["throughput": try await call.queue.throughput(minutes: minutes).map(\.json)]
        },
    ]

    private static let failure = [
        "url": "string", "domain": "string", "code": "integer", "message": "string", "attempts": "integer",
        "meta": "object?",
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
        "job": "integer", "batchID": "integer", "worker": "string", "workerName": "string?", "attempt": "integer",
        "seconds": "number", "url": "string",
    ]
    private static let minute = [
        "minute": "string", "enqueued": "integer", "succeeded": "integer", "failed": "integer",
        "cancelled": "integer", "bytesIn": "integer", "bytesOut": "integer",
    ]
}
