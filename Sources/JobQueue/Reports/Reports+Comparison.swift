import FoundationEssentials

/// Changes between two runs of a name, for URLs that both have.
package struct RunComparison: Sendable, Decodable {
    /// URLs that failed but succeeded in the previous run.
    package let newlyFailed: Int
    /// The first ten, by URL.
    package let newlyFailedURLs: [String]
    /// URLs that succeeded but failed in the previous run.
    package let fixed: Int
    /// The first ten, by URL.
    package let fixedURLs: [String]
}

extension PostgresJobQueue.Reports {
    /// URLs that failed in one of two batches and succeeded in the other, from the newest `limit` records of each. A
    /// URL with several records failed if one of them did; cancelled records are omitted.
    package func comparison(
        of batch: Int64, with previous: Int64, limit: Int = 1_000_000
    ) async throws(QueueError) -> RunComparison {
        try await database.read(
            """
            WITH present AS (
                SELECT url, bool_or(outcome = 'failed') AS failed FROM (
                    SELECT url, outcome FROM larder.record WHERE batch_id = $1 AND retried_as IS NULL AND outcome <> 'cancelled'
                    ORDER BY number DESC LIMIT $3) AS r GROUP BY url),
            past AS (
                SELECT url, bool_or(outcome = 'failed') AS failed FROM (
                    SELECT url, outcome FROM larder.record WHERE batch_id = $2 AND retried_as IS NULL AND outcome <> 'cancelled'
                    ORDER BY number DESC LIMIT $3) AS r GROUP BY url),
            change AS MATERIALIZED (
                SELECT p.url, p.failed FROM present p JOIN past o ON o.url = p.url WHERE o.failed <> p.failed)
            SELECT json_build_object(
                'newlyFailed', (SELECT count(*) FROM change WHERE failed),
                'newlyFailedURLs', (SELECT coalesce(json_agg(url), '[]')
                    FROM (SELECT url FROM change WHERE failed ORDER BY url LIMIT 10) AS c),
                'fixed', (SELECT count(*) FROM change WHERE NOT failed),
                'fixedURLs', (SELECT coalesce(json_agg(url), '[]')
                    FROM (SELECT url FROM change WHERE NOT failed ORDER BY url LIMIT 10) AS c))
            """, [.integer(batch), .integer(previous), .integer(Int64(max(0, limit)))]
        ) { rows throws(QueueError) in
            do {
                return try JSONDecoder().decode(RunComparison.self, from: Data((rows.text(0, 0) ?? "").utf8))
            } catch {
                throw QueueError(.unexpectedAnswer, "the comparison of two batches is not the JSON that is expected")
            }
        }
    }
}
