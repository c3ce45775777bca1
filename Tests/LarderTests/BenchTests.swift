import Foundation
import TestSupport
import Testing

/// The output of `larder-lab bench queue`; its figures are not tested.
@Suite(.timeLimit(.minutes(30)))
struct BenchTests {
    /// A minute on two idle cores; among all tests it may take many.
    private static let limit = Duration.seconds(1_700)

    /// A line of `bench --json`: exactly five fields.
    private struct Line {
        let name: String
        let value: Double
        let unit: String
        let ratio: Double?
        let against: String?

        init(_ text: String) throws {
            let fields = try fields(text)
            #expect(Set(fields.keys) == ["name", "value", "unit", "ratio", "against"], "\(text)")
            name = try #require(fields["name"] as? String)
            value = try #require(fields["value"] as? Double)
            unit = try #require(fields["unit"] as? String)
            ratio = fields["ratio"] as? Double
            against = fields["against"] as? String
        }
    }

    @Test(.enabled(if: Tier.isNightly, "make nightly"))
    func `bench queue prints every figure and leaves no files`() async throws {
        let place = try TemporaryDirectory(open: true)
        let command = LarderCommand.lab(
            ["bench", "queue", "--json", "--rounds", "1", "--jobs", "2000"],
            environment: ["TMPDIR": place.path, "LARDER_HOME": place.file("home")], limit: Self.limit)
        let outcome = try await command.run()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        let faults = try await OutputSchema.faults(outcome.lines.map { ("bench queue", $0) })
        #expect(faults.isEmpty, "\(faults)")
        let lines = try outcome.lines.map(Line.init)
        let names = lines.map(\.name)
        let units = Dictionary(lines.map { ($0.name, $0.unit) }) { first, _ in first }
        for name in ["t1", "enqueue_cli", "complete_1", "complete_100", "complete_500", "noop_end_to_end"] {
            #expect(units[name] == "jobs/s", "\(name)")
        }
        for name in ["claim_p99_million", "claim_p99_dead_rows", "progress_million"] {
            #expect(units[name] == "ms", "\(name)")
        }
        #expect(units["wal_per_job"] == "bytes")
        #expect(units["commits_per_job"] != nil)
        #expect(Set(names).count == names.count)
        for line in lines {
            #expect(line.value > 0, "\(line.name)")
            #expect((line.ratio == nil) == (line.against == nil), "\(line.name)")
            if let against = line.against { #expect(names.contains(against), "\(line.name)") }
        }
        // One call for 10,000 URLs, a claim and a completion per hundred, and maintenance's calls.
        let commits = try #require(lines.first { $0.name == "commits_per_job" })
        #expect(commits.value > 0.01)
        #expect(try place.names == [])
    }

    @Test func `bench without a known benchmark is wrong usage`() async throws {
        for words in [["bench"], ["bench", "unknown"], ["bench", "queue", "--rounds", "0"], ["bench", "drain"]] {
            let outcome = try await LarderCommand.lab(words).run()
            #expect(outcome.code == 2, "\(words)")
            #expect(!outcome.errorText.contains("ErrorDomain"), "\(words): \(outcome.errorText)")
        }
    }

    @Test(.enabled(if: Tier.isNightly, "make nightly"))
    func `bench queue drops its database on a given server`() async throws {
        let scene = try await Scene()
        let before = try await scene.sql("SELECT count(*) FROM pg_database WHERE datname LIKE 'larder_bench_%'")
        var command = scene.larder(
            ["bench", "queue", "--json", "--jobs", "2000", "--rounds", "1", "--database", scene.database.url])
        command.program = LarderCommand.lab
        command.limit = Self.limit
        let outcome = try await command.run()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(try outcome.lines.map(Line.init).first?.name == "t1")
        let after = try await scene.sql("SELECT count(*) FROM pg_database WHERE datname LIKE 'larder_bench_%'")
        #expect(after == before)
    }
}
