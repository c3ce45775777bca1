import Foundation
import Glibc
import TestSupport
import Testing

@testable import Lab

/// The output of `larder-lab bench fleet`; its figures are not tested.
@Suite(.timeLimit(.minutes(30)))
struct FleetBenchTests {
    private static let limit = Duration.seconds(1_700)

    @Test(.enabled(if: Tier.isNightly, "make nightly"))
    func `bench fleet counts its workers and their connections, and every job ends once`() async throws {
        let place = try TemporaryDirectory(open: true)
        let command = LarderCommand.lab(
            [
                "bench", "fleet", "--json", "--workers", "20", "--seconds", "4", "--rate", "400", "--slots", "4",
                "--deaths", "60", "--server-connections", "4",
            ],
            environment: ["TMPDIR": place.path, "LARDER_HOME": place.file("home")], limit: Self.limit)
        let outcome = try await command.run()
        #expect(outcome.code == 0, "\(outcome.text)\(outcome.errorText)")
        let faults = try await OutputSchema.faults(outcome.lines.map { ("bench fleet", $0) })
        #expect(faults.isEmpty, "\(faults)")
        var values: [String: Double] = [:]
        for line in outcome.lines {
            let figure = try fields(line)
            values[try #require(figure["name"] as? String)] = try #require(figure["value"] as? Double)
        }
        #expect(try #require(values["jobs_per_second"]) > 0)
        #expect(try #require(values["claim_p99"]) >= (try #require(values["claim_p50"])))
        // One or two of each worker that lives, and four more while statements take long.
        #expect((10...120).contains(try #require(values["client_connections"])))
        #expect((1...4).contains(try #require(values["server_connections"])))
        #expect(try #require(values["wal_per_second"]) > 0)
        #expect((1...4).contains(try #require(values["deaths"])))
        let statements = values.keys.filter { $0.hasPrefix("calls_") }
        #expect(statements.contains("calls_claim_v1"), "\(statements)")
        #expect(statements.contains("calls_complete_v1"), "\(statements)")
        #expect(outcome.errorText.contains("limit: "), "\(outcome.errorText)")
        #expect(try place.names == [])
    }

    @Test func `bench fleet refuses wrong numbers`() async throws {
        for words in [
            ["--workers", "0"], ["--workers", "many"], ["--seconds", "1"], ["--rate", "-1"], ["--slots", "1001"],
            ["--server-connections", "1"], ["--deaths", "x"], ["--database", "postgresql://db.example/"],
        ] {
            let outcome = try await LarderCommand.lab(["bench", "fleet"] + words).run()
            #expect(outcome.code == 2, "\(words)")
            #expect(outcome.errorText.contains(words[0]), "\(words): \(outcome.errorText)")
        }
    }

    @Test func `bench fleet names the package of a pooler that is missing`() {
        #expect(FleetBench.missing(poolerAt: "/nowhere/pgbouncer")?.contains("Debian package pgbouncer") == true)
        #expect(FleetBench.missing(poolerAt: "/bin/sh") == nil)
    }

    // MARK: - The limit

    /// A result with so many jobs and statements in one interval of ten seconds on two cores.
    private func result(
        jobs: Int, claim: Double = 3, machine: Double = 10, servers: Double = 10, active: Double = 10,
        waits: [String: Double] = [:]
    ) -> FleetResult {
        var counts = FleetCounts()
        counts.completed = jobs
        counts.claims = Array(repeating: claim, count: 100)
        var times = ProcessorTimes(postmaster: 0, pooler: 0)
        (times.postgres, times.pooler, times.own, times.machine) = (5, 1, 2, machine)
        let interval = FleetInterval(
            seconds: 10, counts: counts, times: times, wal: 1, deadRows: 1, clients: 1, servers: servers,
            active: active, waits: waits)
        return FleetResult(
            options: FleetBench.Options(rate: 1_000, serverConnections: 20), intervals: [interval],
            statements: [.init(name: "complete_v1", calls: 100, seconds: 4)], source: .kcache, cores: 2, rescues: 0)
    }

    @Test func `a fleet that keeps its rate with quick claims has reached no limit`() {
        let limit = result(jobs: 9_900).limit
        #expect(limit.hasPrefix("no limit was reached at 990 jobs/s"), "\(limit)")
        #expect(limit.contains("complete_v1 with 0.4 cores"), "\(limit)")
    }

    @Test func `the limit is the resource that was used up`() {
        let busy = result(jobs: 5_000, machine: 19).limit
        #expect(busy.hasPrefix("500 jobs/s of 1,000: the processors were the limit"), "\(busy)")
        #expect(busy.hasSuffix("other programs 1.1"), "\(busy)")
        let pooled = result(jobs: 5_000, servers: 20, active: 150, waits: ["IO:WALSync": 75]).limit
        #expect(
            pooled.contains(
                "the 20 server connections were the limit; 50 % of the running statements waited for IO:WALSync"),
            "\(pooled)")
        let waiting = result(jobs: 5_000, active: 100, waits: ["Lock:tuple": 60, "IO:WALSync": 30]).limit
        #expect(waiting.contains("neither processors nor server connections were the limit; 60 %"), "\(waiting)")
        let slow = result(jobs: 10_000, claim: 80).limit
        #expect(slow.hasPrefix("the slowest hundredth of the claims took more than 80 ms at 1,000 jobs/s"), "\(slow)")
    }
}
