import ImageModel
import JobQueue

extension DashboardRoute {
    /// The operations that change something.
    static let changes: [DashboardRoute] =
        [
            ofBatch("pause", "Pauses a batch.") { queue, batch in
                try await queue.pause(batch)
                return 0
            },
            ofBatch("resume", "Resumes a paused batch.") { queue, batch in
                try await queue.resume(batch)
                return 0
            },
            ofBatch("cancel", "Cancels a batch; `items` is how many were open.") { queue, batch in
                try await queue.cancel(batch)
            },
            ofBatch("retry", "Retries the failed items; `items` is how many.") { queue, batch in
                try await queue.retryAllFailed(of: batch)
            },
            ofBatch("discard", "Discards the failures; `items` is how many.") { queue, batch in
                try await queue.discardFailed(of: batch)
            },
        ] + others

    private static let others: [DashboardRoute] = [
        post(
            "batches/{id}/retry-error", "Retries the items that failed with an error.",
            fields: [.text("domain"), .number("code")], [("items", .value("integer"))]
        ) { call in
            let error = FailureCode(domain: try call.text("domain"), code: try call.integer("code"))
            return ["items": try await call.queue.retryAllFailed(of: .id(call.number), with: error)]
        },
        post("jobs/{id}/retry", "Retries a job; `job` is the one that runs.", [("job", .value("integer"))]) { call in
            ["job": try await call.queue.retry(job: call.number)]
        },
        post("jobs/{id}/cancel", "Cancels a job.", [("result", .value("string"))]) { call in
            ["result": try await call.queue.cancel(job: call.number).rawValue]
        },
        post(
            "jobs/{id}/discard", "Discards the failure of a job; `items` is how many items of its batch.",
            [("items", .value("integer"))]
        ) { call in
            ["items": try await call.queue.discard(job: call.number)]
        },
        bulk("failures/retry", "Retries") { queue, job throws(QueueError) in
            try await queue.retry(job: job)
        },
        bulk("failures/discard", "Discards the failures of") { queue, job throws(QueueError) in
            try await queue.discard(job: job)
        },
        named("queues/pause", "Pauses a queue.", "queue") { call, name in
            try await call.queue.pause(queue: name)
        },
        named("queues/resume", "Resumes a queue.", "queue") { call, name in
            try await call.queue.resume(queue: name)
        },
        named("schedules/run", "Makes a schedule due now.", "schedule") { call, name in
            try await call.queue.runSchedule(name)
        },
        named("schedules/pause", "Pauses a schedule.", "schedule") { call, name in
            try await call.queue.pauseSchedule(name)
        },
        named("schedules/resume", "Resumes a schedule.", "schedule") { call, name in
            try await call.queue.resumeSchedule(name)
        },
        named(
            "origins/hold", "Holds an origin for `seconds`, an hour by default.", "origin", [.optionalNumber("seconds")]
        ) {
            call, name in
            try await call.queue.holdOrigin(name, for: try call.seconds("seconds") ?? .seconds(3_600))
        },
        named("origins/clear", "Removes the hold of an origin.", "origin") { call, name in
            _ = try await call.queue.clearOrigin(name)
        },
        named("blocklist/add", "Blocks a URL for `seconds`, a day by default.", "url", [.optionalNumber("seconds")]) {
            call, name in
            guard BlockableURL.isURL(name) else {
                throw CommandError.usage("'\(ShownURL.masked(name))' is not an http or https URL")
            }
            try await call.queue.block([name], for: try call.seconds("seconds") ?? .seconds(86_400))
        },
        named("blocklist/remove", "Removes a URL from the blocklist.", "url") { call, name in
            _ = try await call.queue.unblock(name)
        },
    ]

    private static func ofBatch(
        _ verb: String, _ summary: String,
        _ change: @escaping @Sendable (PostgresJobQueue, BatchReference) async throws -> Int
    ) -> DashboardRoute {
        post("batches/{id}/\(verb)", summary, [("items", .value("integer")), ("batch", .line(of: "status"))]) { call in
            let batch = BatchReference.id(call.number)
            let items = try await change(call.queue, batch)
            return ["items": items, "batch": try await call.queue.progress(of: batch).json]
        }
    }

    /// A change of the newest jobs that failed and match a filter, one by one, at most as many as a page has.
    private static func bulk(
        _ path: String, _ verb: String,
        _ change: @escaping @Sendable (PostgresJobQueue, Int64) async throws(QueueError) -> Void
    ) -> DashboardRoute {
        post(
            path,
            "\(verb) the newest failed jobs that match, at most \(failuresOfPage) a call: `jobs` is how many, `refused` how many "
                + "could not be changed, `left` whether there are more.",
            fields: failureFilter,
            [("jobs", .value("integer")), ("refused", .value("integer")), ("left", .value("boolean"))]
        ) { call in
            let page = try await call.queue.failures(matching: try call.filter(), limit: failuresOfPage)
            var (changed, refused) = (0, 0)
            for failure in page.failures {
                // An item without a job is retried and discarded with its batch.
                guard let job = failure.job else {
                    refused += 1
                    continue
                }
                do throws(QueueError) {
                    try await change(call.queue, job)
                    changed += 1
                } catch {
                    guard [.unknownJob, .batchClosed, .locked].contains(error.code) else { throw error }
                    refused += 1
                }
            }
            return ["jobs": changed, "refused": refused, "left": page.next != nil]
        }
    }

    /// A change of what a field of the body names; the answer repeats the name.
    private static func named(
        _ path: String, _ summary: String, _ field: String, _ optional: [DashboardRoute.Field] = [],
        _ change: @escaping @Sendable (DashboardCall, String) async throws -> Void
    ) -> DashboardRoute {
        post(path, summary, fields: [.text(field)] + optional, [(field, .value("string"))]) { call in
            let name = try call.text(field)
            try await change(call, name)
            return [field: field == "url" ? ShownURL.masked(name) : name]
        }
    }
}
