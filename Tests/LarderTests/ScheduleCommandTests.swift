import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ScheduleCommandTests {
    @Test func `a schedule is set, listed, run by a drain, and removed`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let list = try scene.directory.write("url,name\n\(url),first\n".utf8, to: "list.csv")
        let set = try await scene.larder(
            "schedule", "set", "nightly", "--cron", "0 2 * * *", "--time-zone", "Europe/Berlin", "--from", list,
            "--json")
        #expect(set.code == 0, "\(set.errorText)")
        #expect(try fields(set.text)["urls"] as? Int == 1)
        #expect(try await scene.larder("work", "--drain").code == 0)
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.batch") == "0")

        #expect(try await scene.larder("enqueue", "--schedule", "nightly").code == 0)
        #expect(try await scene.larder("work", "--drain").code == 0)
        #expect(try await scene.sql("SELECT batch || succeeded FROM larder.progress") == "nightly1")
        #expect(try await scene.sql("SELECT meta ->> 'name' FROM larder.record") == "first")
        let line = try fields(try await scene.larder("status", "--schedules", "--json").text)
        #expect(line["lastURLs"] as? Int == 1)
        #expect(line["missed"] as? Int == 0)
        #expect(line["paused"] as? Bool == false)
        #expect(
            try await scene.larder("status", "--schedules").text.hasPrefix(
                "nightly: 0 2 * * * Europe/Berlin, 1 URL, next at "))

        #expect(try await scene.larder("pause", "--schedule", "nightly").text == "schedule nightly: paused\n")
        #expect(try await scene.larder("schedule", "remove", "nightly").code == 0)
        let unknown = try await scene.larder("schedule", "remove", "nightly")
        #expect(unknown.code == 1)
        #expect(unknown.errorText.contains("unknown schedule \"nightly\""))
    }

    @Test func `the list says since when a schedule waits, for which batch, and how that ends`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        _ = try await scene.larder("schedule", "set", "nightly", "--cron", "0 2 * * *", url)
        // A run that was opened by hand and is not sealed.
        _ = try await scene.larder("enqueue", "--batch", "nightly", "--open", url)
        _ = try await scene.larder("enqueue", "--schedule", "nightly")
        _ = try await scene.larder("work", "--drain")
        let text = try await scene.larder("status", "--schedules").text
        #expect(text.contains(" and waits, batch nightly@1 is not finished: 'larder status 1' shows it, "), "\(text)")
        #expect(text.contains("URL, due since 2"), "\(text)")
        let line = try fields(try await scene.larder("status", "--schedules", "--json").text)
        #expect(line["waitingFor"] as? Int == 1)
        #expect(try await scene.larder("cancel", "1").code == 0)
        #expect(try await scene.larder("work", "--drain").code == 0)
        #expect(try await scene.sql("SELECT state FROM larder.progress WHERE batch_id = 2") == "finished")
    }

    @Test func `a schedule that cannot be understood is refused with the reason`() async throws {
        let scene = try await Scene()
        for (words, reason) in [
            (["--cron", "0 25 * * *", "http://a/1"], "numbers from 0 to 23"),
            (["--cron", "@daily", "--query", "SELECT nothing"], "the query fails"),
            (["--cron", "@daily", "--time-zone", "Berlin", "http://a/1"], "unknown time zone \"Berlin\""),
            (["--cron", "@daily"], "either --query or URLs"), (["http://a/1"], "--cron is required"),
        ] {
            let outcome = try await scene.larder(["schedule", "set", "s"] + words).run()
            #expect(outcome.code != 0, "\(outcome.errorText)")
            #expect(outcome.errorText.contains(reason), "\(outcome.errorText)")
        }
        #expect(try await scene.sql("SELECT count(*) FROM larder.schedule") == "0")
    }
}
