import Measuring

/// The figures of a `bench fleet` run, and the first limit that it reached.
struct FleetResult: Sendable {
    let options: FleetBench.Options
    let intervals: [FleetInterval]
    let statements: [StatementTimes.Statement]
    let source: StatementTimes.Source
    let cores: Int
    /// Dead workers' jobs done by others, in the whole run.
    let rescues: Double

    private static let shownStatements = 8

    private var seconds: Double { intervals.reduce(0) { $0 + $1.seconds } }

    /// The counts of the whole run.
    var counts: FleetCounts { intervals.reduce(into: FleetCounts()) { $0 += $1.counts } }

    func figures() throws -> [MeasuredFigure] {
        var rounds = Rounds()
        for interval in intervals { rounds.add(interval.values.filter { $0.value > 0 }) }
        let counts = counts
        var once = [
            "deaths": Double(counts.died), "rescued_jobs": rescues, "failed_calls": Double(counts.failed),
            "stale_results": Double(counts.stale), "lost_leases": Double(counts.lost),
            "statements_per_second": statements.reduce(0) { $0 + $1.calls } / seconds,
        ]
        for (name, times) in [
            ("claim_p99", counts.claims), ("complete_p99", counts.completions), ("heartbeat_p99", counts.heartbeats),
        ]
        where !times.isEmpty { once[name] = times.quantile(0.99) }
        let shown = statements.prefix(Self.shownStatements).filter { $0.seconds > 0 }
        for statement in shown {
            once["cores_\(statement.name)"] = statement.seconds / seconds
            once["calls_\(statement.name)"] = statement.calls / seconds
        }
        once = once.filter { $0.value > 0 }
        rounds.add(once)
        // Figures that are never zero in a successful run, then figures that may be.
        let required = [
            Figure("jobs_per_second", "jobs/s"), Figure("claim_p50", "ms"), Figure("claim_p99", "ms"),
            Figure("complete_p50", "ms"), Figure("complete_p99", "ms"),
            Figure("client_connections", "connections"), Figure("server_connections", "connections"),
            Figure("wal_per_second", "bytes/s"), Figure("postgres_cores", "cores"),
        ]
        let units = [
            ("heartbeat_p99", "ms"), ("dead_rows", "rows"), ("statements_per_second", "statements/s"),
            ("pooler_cores", "cores"), ("fleet_cores", "cores"), ("machine_cores", "cores"), ("deaths", "workers"),
            ("rescued_jobs", "jobs"), ("lost_leases", "workers"), ("stale_results", "jobs"), ("failed_calls", "calls"),
        ]
        let seen = Set(intervals.flatMap { $0.values.filter { $0.value > 0 }.keys }).union(once.keys)
        return try rounds.measurements(
            required + units.filter { seen.contains($0.0) }.map { Figure($0.0, $0.1) }
                + shown.flatMap {
                    [Figure("cores_\($0.name)", "cores"), Figure("calls_\($0.name)", "calls/s")]
                })
    }

    /// The first limit that the run reached, one sentence.
    var limit: String {
        let counts = counts
        let rate = Double(counts.completed) / seconds
        let postgres = used { $0.postgres }
        let costliest =
            statements.first.map { statement in
                "; the costliest statement is \(statement.name) with \((statement.seconds / seconds).short) cores of \(source.rawValue)"
            } ?? ""
        let use = "Postgres used \(postgres.short) of \(self.cores) cores\(costliest)"
        let p99 = counts.claims.isEmpty ? 0 : counts.claims.quantile(0.99)
        let isFast = options.rate > 0 && rate >= 0.95 * Double(options.rate)
        if isFast && p99 <= FleetBench.claimGoal {
            return "no limit was reached at \(rate.short) jobs/s; \(use)"
        }
        let what =
            isFast
            ? "the slowest hundredth of the claims took more than \(p99.short) ms at \(rate.short) jobs/s"
            : "\(rate.short) jobs/s\(options.rate > 0 ? " of \(Double(options.rate).short)" : "")"
        let all = used { $0.machine }
        if all >= 0.9 * Double(self.cores) {
            let others = all - postgres - used { $0.pooler } - used { $0.own }
            return "\(what): the processors were the limit; \(use); pgbouncer used \(used { $0.pooler }.short), "
                + "the simulated workers \(used { $0.own }.short), other programs \(max(0, others).short)"
        }
        let active = intervals.reduce(0) { $0 + $1.active }
        let waits = intervals.reduce(into: [String: Double]()) { $0.merge($1.waits) { $0 + $1 } }
        let wait =
            waits.max { ($0.value, $1.key) < ($1.value, $0.key) }.map { name, count in
                "\((100 * count / max(1, active)).short) % of the running statements waited for \(name)"
            } ?? "no statement waited"
        let servers = intervals.map(\.servers).max() ?? 0
        if servers >= Double(options.serverConnections) && active >= 0.5 * servers * seconds {
            return "\(what): the \(options.serverConnections) server connections were the limit; \(wait); \(use)"
        }
        return "\(what): neither processors nor server connections were the limit; \(wait); \(use)"
    }

    private func used(_ part: (ProcessorTimes) -> Double) -> Double {
        intervals.reduce(0) { $0 + part($1.times) } / seconds
    }
}
