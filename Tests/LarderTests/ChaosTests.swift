import Foundation
import TestSupport
import Testing

/// `larder-lab chaos` with short runs; `make chaos` makes a long one.
@Suite(.timeLimit(.minutes(5)))
struct ChaosTests {
    private func chaos(_ scene: Scene, _ words: String...) -> LarderCommand {
        let common = ["chaos", "--json", "--workers", "2", "--database", scene.database.url]
        var command = scene.larder(common + words)
        // An open directory: a server's user must be able to enter it.
        command.program = LarderCommand.lab
        command.environment["TMPDIR"] = scene.directory.path
        return command
    }

    @Test(.enabled(if: Tier.isNightly, "make nightly"))
    func `a short run injects faults, finds nothing and leaves nothing`() async throws {
        let scene = try await Scene()
        let command = chaos(
            scene, "--seconds", "5", "--seed", "4", "--kinds",
            "worker-kill,transcoder-kill,origin-drop,backend-terminate")
        let outcome = try await command.run()
        #expect(outcome.code == 0, "\(outcome.text)\(outcome.errorText)")
        let faults = try await OutputSchema.faults(outcome.lines.map { ("chaos", $0) })
        #expect(faults.isEmpty, "\(faults)")
        let lines = try outcome.lines.map(fields)
        let rows = lines.filter { $0["fault"] != nil && $0["injected"] != nil }
        #expect(
            Set(rows.compactMap { $0["fault"] as? String })
                == ["worker-kill", "transcoder-kill", "origin-drop", "backend-terminate"])
        #expect(rows.allSatisfy { ($0["injected"] as? Int ?? 0) > 0 && $0["violations"] as? Int == 0 })
        let totals = try #require(lines.last)
        #expect(totals["seed"] as? String == "4")
        #expect(totals["violations"] as? Int == 0)
        #expect((totals["files"] as? Int ?? 0) > 0)
        #expect((totals["samples"] as? Int ?? 0) > 0)
        #expect(try scene.directory.names.filter { $0.hasPrefix("larder-") } == [])
        // It accepts a database that its own run has left, and runs again.
        let again = try await chaos(scene, "--seconds", "5", "--kinds", "held-snapshot").run()
        #expect(again.code == 0, "\(again.text)\(again.errorText)")
    }

    @Test func `a count that is wrong is a violation and the exit code is 1`() async throws {
        let scene = try await Scene()
        _ = try await scene.sql(
            """
            CREATE FUNCTION larder_data.damage() RETURNS boolean LANGUAGE sql AS $$
                WITH changed AS (
                    UPDATE larder_data.batch_total SET total = total + 1, succeeded = succeeded + 1
                    WHERE batch_id = (SELECT min(batch_id) FROM larder_data.batch_total) RETURNING 1)
                SELECT count(*) = 1 FROM changed
            $$
            """)
        let run = try chaos(scene, "--seconds", "5", "--kinds", "held-snapshot").start()
        #expect(await run.reaches { _ in scene.holds("larder_data.damage()") })
        let outcome = await run.outcome()
        #expect(outcome.code == 1)
        let faults = try await OutputSchema.faults(outcome.lines.map { ("chaos", $0) })
        #expect(faults.isEmpty, "\(faults)")
        let found = try outcome.lines.map(fields).compactMap { $0["violation"] as? String }
        #expect(found.contains { $0.hasPrefix("batch chaos-") && $0.contains("items instead of") }, "\(outcome.text)")
        #expect(try fields(try #require(outcome.lines.last))["violations"] as? Int ?? 0 > 0)
    }

    @Test func `a database that holds anything else is refused and not changed`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "--batch", "mine", "https://example.com/a.jpg")
        let outcome = try await chaos(scene, "--seconds", "5").run()
        #expect(outcome.code == 2)
        #expect(outcome.text.contains("the batch mine"), "\(outcome.text)")
        #expect(try await scene.sql("SELECT count(*) FROM larder.progress") == "1")

        let table = try await Scene()
        _ = try await table.sql("CREATE TABLE product (id int)")
        let refused = try await chaos(table, "--seconds", "5").run()
        #expect(refused.code == 2)
        #expect(refused.text.contains("the relation product"), "\(refused.text)")

        let schedule = try await Scene()
        _ = try await schedule.sql(
            "SELECT larder.schedule_set('chaos-s', '@daily', urls => ARRAY['http://127.0.0.1/a'])")
        #expect(try await chaos(schedule, "--seconds", "5").run().text.contains("holds a schedule"))
        let webhook = try await Scene()
        _ = try await webhook.sql(
            "SELECT larder.batch_on_finished(larder.batch_open('chaos-b')::text, 'http://127.0.0.1/')")
        #expect(try await chaos(webhook, "--seconds", "5").run().text.contains("holds a webhook"))
    }

    @Test func `an unknown kind is wrong usage`() async throws {
        let scene = try await Scene()
        let outcome = try await chaos(scene, "--kinds", "worker-kill,earthquake").run()
        #expect(outcome.code == 2)
        #expect(outcome.text.contains("earthquake"))
    }
}
