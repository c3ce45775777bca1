import Concurrency
import FoundationEssentials
import Measuring

/// Server and process figures of one interval.
struct FleetInterval: Sendable {
    var seconds: Double
    var counts: FleetCounts
    var times: ProcessorTimes
    var wal: Double
    /// The maximum of dead rows, client connections and server connections.
    var deadRows = 0.0, clients = 0.0, servers = 0.0
    /// Samples of sessions running a statement, and what waiting ones waited for.
    var active = 0.0, waits: [String: Double] = [:]

    /// By figure name.
    var values: [String: Double] {
        var values = [
            "jobs_per_second": Double(counts.completed) / seconds, "wal_per_second": wal / seconds,
            "dead_rows": deadRows, "client_connections": clients, "server_connections": servers,
            "postgres_cores": times.postgres / seconds, "pooler_cores": times.pooler / seconds,
            "fleet_cores": times.own / seconds, "machine_cores": times.machine / seconds,
        ]
        for (name, times) in [("claim_p50", counts.claims), ("complete_p50", counts.completions)]
        where !times.isEmpty { values[name] = times.quantile(0.5) }
        return values
    }
}

/// Samples the server and the processes every second.
struct FleetSampler: Sendable {
    /// The length of an interval.
    static let interval = 10

    let session: BenchSession
    let ledger: FleetLedger
    let postmaster: Int32, pooler: Int32

    /// The intervals of the next `seconds`.
    func sample(seconds: Int) async throws -> [FleetInterval] {
        _ = ledger.take()
        var intervals: [FleetInterval] = []
        let start = ContinuousClock.now
        var last = start
        var wal = try await session.writtenWAL()
        var times = ProcessorTimes(postmaster: postmaster, pooler: pooler)
        var interval = FleetInterval(seconds: 0, counts: FleetCounts(), times: times, wal: 0)
        for second in 1...seconds {
            try await Task.sleep(until: start + .seconds(second), clock: .continuous)
            try await look(&interval)
            // A remainder shorter than an interval belongs to the last one.
            guard second == seconds || second % Self.interval == 0 && seconds - second >= Self.interval else {
                continue
            }
            let now = ContinuousClock.now
            let present = (
                wal: try await session.writtenWAL(), times: ProcessorTimes(postmaster: postmaster, pooler: pooler)
            )
            interval.seconds = (now - last).seconds
            interval.counts = ledger.take()
            interval.wal = present.wal - wal
            interval.times = present.times - times
            intervals.append(interval)
            (last, wal, times) = (now, present.wal, present.times)
            interval = FleetInterval(seconds: 0, counts: FleetCounts(), times: times, wal: 0)
        }
        return intervals
    }

    private struct Look: Decodable {
        struct Wait: Decodable { let what: String, count: Double }

        let servers: Double, active: Double
        let dead: Double?
        let waits: [Wait]?
    }

    private func look(_ interval: inout FleetInterval) async throws {
        let text = try await session.execute(
            """
            WITH s AS (
                SELECT state, wait_event_type || ':' || wait_event AS wait FROM pg_stat_activity
                WHERE backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid())
            SELECT json_build_object('servers', (SELECT count(*) FROM s),
                'active', (SELECT count(*) FROM s WHERE state = 'active'),
                'dead', (SELECT sum(n_dead_tup) FROM pg_stat_user_tables WHERE schemaname = 'larder_data'),
                'waits', (SELECT json_agg(w) FROM (
                    SELECT wait AS what, count(*) FROM s WHERE state = 'active' AND wait IS NOT NULL GROUP BY 1) AS w))
            """)
        let look = try JSONDecoder().decode(Look.self, from: Data((text ?? "{}").utf8))
        interval.servers = max(interval.servers, look.servers)
        interval.clients = max(interval.clients, Double(ledger.connections))
        interval.deadRows = max(interval.deadRows, look.dead ?? 0)
        interval.active += look.active
        for wait in look.waits ?? [] { interval.waits[wait.what, default: 0] += wait.count }
    }
}
