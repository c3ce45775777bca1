import TestSupport
import Testing

/// Names of queues, batches and schedules that do not exist; PipelineCommandTests has unknown pipelines.
@Suite(.timeLimit(.minutes(5)))
struct UnknownNameTests {
    @Test func `an unknown queue is answered with the nearest name, the list, and how to create one`() async throws {
        let scene = try await Scene()
        let near =
            "unknown queue \"defalt\"; did you mean 'default'? 'larder status --queues' shows all; "
            + "to create it: larder queue set defalt"
        for words in [
            ["work", "--drain", "--queue", "defalt"], ["pause", "--queue", "defalt"],
            ["enqueue", "http://a.example/1", "--queue", "defalt"],
        ] {
            let outcome = try await scene.larder(words).run()
            #expect(outcome.code == 1, "\(words): \(outcome.errorText)")
            #expect(outcome.errorText.contains(near), "\(words): \(outcome.errorText)")
        }
        let other = try await scene.larder("resume", "--queue", "it's")
        let list =
            "unknown queue \"it's\"; 'larder status --queues' shows all; to create it: larder queue set 'it'\\''s'"
        #expect(other.errorText.contains(list), "\(other.errorText)")
        _ = try await scene.sql("SELECT larder.queue_set('it''s')")
        #expect(try await scene.larder("resume", "--queue", "it's").code == 0)
    }

    @Test func `an unknown batch or schedule is answered with the nearest name and the list`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "http://a.example/1", "--batch", "spring")
        let set = try await scene.larder("schedule", "set", "nightly", "http://a.example/1", "--cron", "0 2 * * *")
        #expect(set.code == 0, "\(set.errorText)")
        for words in [["status"], ["report"], ["pause"], ["delete"]] {
            let outcome = try await scene.larder(words + ["spirng"]).run()
            let near = "unknown batch \"spirng\"; did you mean 'spring'? 'larder status' shows the newest"
            #expect(outcome.code == 1, "\(words): \(outcome.errorText)")
            #expect(outcome.errorText.contains(near), "\(words): \(outcome.errorText)")
        }
        let number = try await scene.larder("status", "99")
        #expect(number.errorText.contains("unknown batch \"99\"; 'larder status' shows"), "\(number.errorText)")
        let schedule = try await scene.larder("enqueue", "--schedule", "nightl")
        let near = "unknown schedule \"nightl\"; did you mean 'nightly'? 'larder status --schedules' shows all"
        #expect(schedule.code == 1, "\(schedule.errorText)")
        #expect(schedule.errorText.contains(near), "\(schedule.errorText)")
    }
}
