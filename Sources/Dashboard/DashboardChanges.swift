import Downloader
import ImageModel
import JobQueue
import ObjectStore
import Reports
import Terminal

extension DashboardRoute {
    /// The operations that change something.
    package static let changes: [DashboardRoute] =
        [
            ofBatch("pause") { queue, batch in
                try await queue.producer.pause(batch)
                return 0
            },
            ofBatch("resume") { queue, batch in
                try await queue.producer.resume(batch)
                return 0
            },
            ofBatch("cancel") { queue, batch in
                try await queue.producer.cancel(batch)
            },
            ofBatch("retry") { queue, batch in
                try await queue.producer.retryAllFailed(of: batch)
            },
            ofBatch("discard") { queue, batch in
                try await queue.producer.discardFailed(of: batch)
            },
        ] + others

    private static let others: [DashboardRoute] = [
        post("batches/{id}/retry-error") { call in
            let error = try call.error()
            return ["items": try await call.queue.producer.retryAllFailed(of: .id(call.number), with: error)]
        },
        post("jobs/{id}/retry") { call in
            ["job": try await call.queue.producer.retry(job: call.number)]
        },
        post("jobs/{id}/cancel") { call in
            ["result": try await call.queue.producer.cancel(job: call.number).rawValue]
        },
        post("jobs/{id}/discard") { call in
            ["items": try await call.queue.producer.discard(job: call.number)]
        },
        bulk("failures/retry") { queue, job throws(QueueError) in
            try await queue.producer.retry(job: job)
        },
        bulk("failures/discard") { queue, job throws(QueueError) in
            try await queue.producer.discard(job: job)
        },
        named("queues/pause", "queue") { call, name in
            try await call.queue.operations.pause(queue: name)
        },
        named("queues/resume", "queue") { call, name in
            try await call.queue.operations.resume(queue: name)
        },
        named("schedules/run", "schedule") { call, name in
            try await call.queue.operations.runSchedule(name)
        },
        named("schedules/pause", "schedule") { call, name in
            try await call.queue.operations.pauseSchedule(name)
        },
        named("schedules/resume", "schedule") { call, name in
            try await call.queue.operations.resumeSchedule(name)
        },
        named("origins/hold", "origin") {
            call, name in
            try await call.queue.operations.holdOrigin(name, for: try call.seconds("seconds") ?? .seconds(3_600))
        },
        named("origins/clear", "origin") { call, name in
            _ = try await call.queue.operations.clearOrigin(name)
        },
        named("blocklist/add", "url") {
            call, name in
            guard BlockableURL.isURL(name) else {
                throw CommandError.usage("'\(ShownURL.masked(name))' is not an http or https URL")
            }
            try await call.queue.operations.block([name], for: try call.seconds("seconds") ?? .seconds(86_400))
        },
        named("blocklist/remove", "url") { call, name in
            _ = try await call.queue.operations.unblock(name)
        },
    ]

    private static func ofBatch(
        _ verb: String, _ change: @escaping @Sendable (PostgresJobQueue, BatchReference) async throws -> Int
    ) -> DashboardRoute {
        post("batches/{id}/\(verb)") { call in
            let batch = BatchReference.id(call.number)
            let items = try await change(call.queue, batch)
            return ["items": items, "batch": try await call.queue.reports.progress(of: batch).json]
        }
    }

    /// Changes the newest failed jobs that match a filter, one by one, at most a page's number.
    private static func bulk(
        _ path: String,
        _ change: @escaping @Sendable (PostgresJobQueue, Int64) async throws(QueueError) -> Void
    ) -> DashboardRoute {
        post(path) { call in
            let page = try await call.queue.reports.failures(matching: try call.filter(), limit: failuresOfPage)
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

    /// A change of the object named by a body field; the answer repeats the name.
    private static func named(
        _ path: String, _ field: String,
        _ change: @escaping @Sendable (DashboardCall, String) async throws -> Void
    ) -> DashboardRoute {
        post(path, field) { call in
            let name = try call.text(field)
            try await change(call, name)
            return [field: field == "url" ? ShownURL.masked(name) : name]
        }
    }
}

/// Which texts can be blocked.
package enum BlockableURL {
    /// In bytes.
    package static let limit = 8192

    /// Whether 'enqueue' accepts the URL.
    package static func isURL(_ text: String) -> Bool {
        text.utf8.count <= limit && ((try? SourceURL(text)) != nil || (try? ObjectURL(text)) != nil)
    }
}
