import Concurrency
import FoundationEssentials

extension Duration {
    fileprivate var interval: String { "\(milliseconds) ms" }
}

/// The two enqueue calls: for URLs with shared settings, and for URLs with individual settings and dry runs.
extension EnqueueRequest {
    var isPlain: Bool { !isDryRun && !settings.contains { $0 != Settings() } }

    var plainCall: (String, [Parameter]) {
        (
            """
            SELECT answer, job_id, domain, code, message
            FROM larder.enqueue_many($1, batch => $2, pipeline => $3, priority => $4::int, at => \(start.sql("$5")),
                options => $6::bigint, context => $7::json, max_attempts => $8::int, retry_base => $9::float8 * interval '1 ms', queue => $10,
                fresh_for => $11::float8 * interval '1 ms', cache_id => $12, source => $13, source_from => $14, metas => $15::json[],
                not_after => coalesce($16::timestamptz, now() + $18::float8 * interval '1 ms'), on_running => $17,
                traceparent => $19)
            """,
            [
                .texts(urls), .text(batchID.map(String.init) ?? batch), .text(pipeline),
                .integer(priority.map(Int64.init)), .integer(start.milliseconds),
                .integer(Int64(bitPattern: options)), .text(context), .integer(maxAttempts.map(Int64.init)),
                .integer(retryBase?.milliseconds), .text(queue), .integer(freshFor?.milliseconds), .text(cacheID),
                .text(source?.name), .integer(Int64(source?.from ?? 0)), .optionalTexts(metas),
                .text(notAfter.map(EnqueueRequest.time)), .text(onRunning.rawValue),
                .integer(validFor?.milliseconds), .text(traceparent),
            ]
        )
    }

    var listCall: (String, [Parameter]) {
        get throws(QueueError) {
            (
                """
                SELECT answer, job_id, domain, code, message
                FROM larder.enqueue_list($1::json, $2, $3::json[], $4::json[], $5, $6, dry_run => \(isDryRun)) ORDER BY ord
                """,
                [
                    .text(try sharedJSON()), .texts(urls), .optionalTexts(try ownJSON), .optionalTexts(metas),
                    .text(source?.name), .integer(Int64(source?.from ?? 0)),
                ]
            )
        }
    }

    /// Settings of all URLs; `onFinished` is for a schedule.
    func sharedJSON(onFinished: String? = nil) throws(QueueError) -> String {
        try Self.json(
            Call(
                batch: batchID.map(String.init) ?? batch, pipeline: pipeline, pipeline_spec: spec, priority: priority,
                at: start.time, delay: start.delay, options: Int64(bitPattern: options), context: context,
                max_attempts: maxAttempts, retry_base: retryBase?.interval, queue: queue,
                fresh_for: freshFor?.interval, cache_id: cacheID, not_after: notAfter.map(EnqueueRequest.time),
                valid_for: validFor?.interval, on_running: onRunning.rawValue, on_finished: onFinished,
                traceparent: traceparent))
    }

    var ownJSON: [String?] {
        get throws(QueueError) {
            var own: [String?] = []
            for setting in settings {
                own.append(
                    setting == Settings()
                        ? nil
                        : try Self.json(
                            Call(
                                pipeline: setting.pipeline, priority: setting.priority, at: setting.start.time,
                                delay: setting.start.delay)))
            }
            return own
        }
    }

    /// The JSON argument of `larder.enqueue_list`, with its names. `context` is a text, because parsing could change
    /// it.
    private struct Call: Encodable {
        var batch: String?
        var pipeline: String?
        var pipeline_spec: String?
        var priority: Int?
        var at: String?
        var delay: String?
        var options: Int64?
        var context: String?
        var max_attempts: Int?
        var retry_base: String?
        var queue: String?
        var fresh_for: String?
        var cache_id: String?
        var not_after: String?
        var valid_for: String?
        var on_running: String?
        var on_finished: String?
        var traceparent: String?
    }

    fileprivate static func time(_ seconds: Double) -> String {
        UTCTime(microseconds: Int64(clampingToMilliseconds: seconds) * 1_000).iso8601
    }

    private static func json(_ call: Call) throws(QueueError) -> String {
        do {
            return String(decoding: try JSONEncoder().encode(call), as: UTF8.self)
        } catch {
            throw QueueError(.invalidArgument, "the request cannot be written as JSON: \(error)")
        }
    }
}

extension EnqueueRequest.Start {
    /// ISO 8601; nil unless it is `.at`.
    fileprivate var time: String? {
        guard case .at(let seconds) = self else { return nil }
        return EnqueueRequest.time(seconds)
    }

    /// A Postgres interval; nil unless it is `.after`.
    fileprivate var delay: String? {
        guard case .after(let delay) = self else { return nil }
        return delay.interval
    }
}
