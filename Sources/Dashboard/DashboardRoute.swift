import HTTPServer
import ImageModel
import JobQueue
import Reports
import Terminal

/// An operation of the API, described in docs/openapi.json.
struct DashboardRoute: Sendable {
    let method: String
    /// Below `/api/v1/`; the part `{id}` is a whole number.
    let path: String
    /// The body field that names a change's target; nil if the path or a filter names it.
    var field: String?
    /// How long an answer is cached.
    var lasting = Duration.seconds(1)
    let run: @Sendable (DashboardCall) async throws -> JSONObject

    static func get(
        _ path: String, lasting: Duration = .seconds(1),
        _ run: @escaping @Sendable (DashboardCall) async throws -> JSONObject
    ) -> DashboardRoute {
        DashboardRoute(method: "GET", path: path, lasting: lasting, run: run)
    }

    static func post(
        _ path: String, _ field: String? = nil,
        _ run: @escaping @Sendable (DashboardCall) async throws -> JSONObject
    ) -> DashboardRoute {
        DashboardRoute(method: "POST", path: path, field: field, run: run)
    }

    /// A change's name in the record of actions, such as `batches/pause`.
    var verb: String { path.replacing("{id}/", with: "") }

    /// A change's target: the number in the path, or the first body field; a URL without password and signature.
    func target(of call: DashboardCall) throws(CommandError) -> String {
        guard call.number == 0 else { return "\(call.number)" }
        guard let field else { return try call.filterText }
        let text = try call.text(field)
        return field == "url" ? ShownURL.masked(text) : text
    }

    /// The number in `path` if it is this route's, 0 for a route without number; nil for another path.
    func match(_ path: [Substring]) -> Int64? {
        let parts = self.path.split(separator: "/")
        guard parts.count == path.count else { return nil }
        var number: Int64 = 0
        for (part, given) in zip(parts, path) {
            if part == "{id}" {
                guard let value = Int64(given), value > 0 else { return nil }
                number = value
            } else if part != given {
                return nil
            }
        }
        return number
    }
}

extension DashboardRoute {
    /// All operations, in documentation order.
    package static let all = reading + changes

    private static let reading: [DashboardRoute] = [
        get("overview") { call in
            ["overview": try await call.queue.reports.overview().json]
        },
        get("batches") { call in
            let limit = try call.number("limit", in: 1...1_000, default: 50)
            return ["batches": try await call.queue.reports.progress(limit: limit).map(\.json)]
        },
        get("batches/{id}") { call in
            let batch = try await call.queue.reports.progress(of: .id(call.number))
            return [
                "batch": batch.json, "errors": try await call.queue.reports.errors(of: [batch.id]).map(\.adviceJSON),
                "hasFailures": try await call.queue.reports.hasFailures(batch.id),
            ]
        },
        get("batches/{id}/failures") { call in
            let after = try call.number("after", in: Int.min...Int.max, default: 0)
            let limit = try call.number("limit", in: 1...1_000, default: 200)
            let page = try await call.queue.reports.failures(
                of: call.number, after: after == 0 ? .min : Int64(after), limit: limit)
            let next = page.count < limit ? nil : page.last.map { "\($0.cursor)" }
            return ["failures": page.map(\.json), "next": next]
        },
        get("batches/{id}/statistics", lasting: .seconds(5)) { call in
            let progress = try await call.queue.reports.progress(of: .id(call.number), isDetailed: false)
            return [
                "statistics": try await call.queue.reports.sample(
                    of: progress.id, jobs: jobsOfSample, files: jobsOfFiles
                )
                .json(of: "BATCH"),
                "previous": try await call.queue.previousRun(of: progress)?.json,
            ]
        },
        get("failures") { call in
            let limit = try call.number("limit", in: 1...failuresOfPage, default: 100)
            let text = call.request.arguments["after"] ?? ""
            guard let after = text.isEmpty ? .start : FailurePage.Position(text: text) else {
                throw CommandError.usage("after: not the 'next' of a page")
            }
            var filter = try call.filter()
            if filter.batch == nil, let name = call.request.arguments["batch"], !name.isEmpty {
                filter.batch = try await call.queue.id(ofBatch: name)
            }
            let page = try await call.queue.reports.failures(matching: filter, after: after, limit: limit)
            let batches =
                if let batch = filter.batch { [batch] } else {
                    try await call.queue.reports.progress(limit: batchesOfCauses, isDetailed: false).map(\.id)
                }
            return [
                "failures": page.failures.map(\.json), "next": page.next?.text, "batch": filter.batch,
                "causes": try await call.queue.reports.errors(of: batches).map(\.adviceJSON),
            ]
        },
        get("batches/{id}/images") { call in
            let after = try call.number("after", in: 1...Int.max, default: .max)
            let limit = try call.number("limit", in: 1...200, default: 24)
            let page = try await call.queue.reports.images(of: call.number, before: Int64(after), limit: limit)
            return ["images": page.images.map(\.json), "next": page.next.map { "\($0)" }]
        },
        get("queues") { call in
            ["queues": try await call.queue.reports.queues().map(\.json)]
        },
        get("workers") { call in
            ["workers": try await call.queue.reports.workers().map(\.json)]
        },
        get("workers/running") { call in
            ["running": try await call.queue.reports.workersJobs().map(\.json)]
        },
        get("running") { call in
            let limit = try call.number("limit", in: 1...1_000, default: 100)
            return ["running": try await call.queue.reports.runningJobs(limit: limit).map(\.json)]
        },
        get("origins") { call in
            [
                "origins": try await call.queue.reports.heldOrigins().map(\.json),
                "limits": try await call.queue.reports.limitedOrigins().map(\.json),
            ]
        },
        get("origins/active", lasting: .seconds(5)) { call in
            ["origins": try await call.queue.reports.originActivity().map(\.json)]
        },
        get("blocklist") { call in
            ["blocklist": try await call.queue.reports.blocklist().map { $0.json(isNamed: call.allowsChanges) }]
        },
        get("schedules") { call in
            ["schedules": try await call.queue.reports.schedules().map(\.json)]
        },
        get("pipelines") { call in
            let pipelines = try await call.queue.reports.pipelines().map { pipeline -> JSONObject in
                ["name": pipeline.name, "version": pipeline.version, "spec": pipeline.spec]
            }
            return ["pipelines": pipelines]
        },
        get("actions") { call in
            let limit = try call.number("limit", in: 1...1_000, default: 200)
            return ["actions": try await call.queue.reports.actions(limit: limit).map(\.json)]
        },
        get("health", lasting: .seconds(5)) { call in
            ["findings": try await HealthLine.all(of: call.queue).map(\.json)]
        },
        get("history", lasting: .seconds(5)) { call in
            let minutes = try call.number("minutes", in: 60...1_440, default: 60)
            let length = minutes <= 60 ? 1 : minutes <= 360 ? 5 : 15
            let slots = try await call.queue.reports.history(minutes: minutes, slot: length)
            return ["seconds": length * 60, "slots": slots.map(\.json)]
        },
        get("throughput") { call in
            let minutes = try call.number("minutes", in: 1...1_440, default: 60)
            return ["throughput": try await call.queue.reports.throughput(minutes: minutes).map(\.json)]
        },
    ]

    /// The newest batches whose causes are counted where no batch is chosen.
    private static let batchesOfCauses = 50
    /// The most failures of a page, and of a change in bulk.
    static let failuresOfPage = 200
    /// Jobs in a batch's sample, and jobs whose files it reads, which is slower.
    private static let jobsOfSample = 500, jobsOfFiles = 250
}
