import TestSupport
import Testing

/// The pipeline commands.
@Suite(.timeLimit(.minutes(5)))
struct PipelineCommandTests {
    @Test func `the report says how a pipeline with a misspelt field is corrected`() async throws {
        let scene = try await Scene()
        let variants = #"[{"name":"card","thumbnail":{"width":20,"hight":20}}]"#
        _ = try await scene.sql("SELECT larder.pipeline_set('typo', '{\"name\":\"typo\",\"variants\":\(variants)}')")
        _ = try await scene.sql("SELECT larder.enqueue('http://a.example/a.jpg', 'b', 'typo')")
        _ = try await scene.sql("SELECT larder.batch_seal('b')")
        #expect(try await scene.larder("work", "--drain").code == 1)
        let report = try await scene.larder("report", "b").text
        #expect(
            report.contains("1 × The pipeline's JSON is wrong\n    Correct it with larder pipeline set"), "\(report)")
        #expect(report.contains(#"hight: is not a known field; did you mean "height"?"#), "\(report)")
    }

    @Test func `an error for a file that is not JSON has the position`() async throws {
        let scene = try await Scene()
        let file = try scene.directory.write("{\"name\":\"p\",\n\"variants\":[}".utf8, to: "p.json")
        let outcome = try await scene.larder("pipeline", "set", "p", "--from", file, "--json")
        #expect(outcome.code == 2)
        #expect(try outcome.error.kind == "LarderErrorDomain 4")
        #expect(try outcome.error.message.contains("\(file): $: "))
        #expect(try outcome.error.message.contains("line 2, column 13"))
    }

    @Test func `an unknown pipeline is answered with the nearest name and the command that lists all`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("pipeline", "set", "cards", "--variant", Variants.small)
        let near = "unknown pipeline \"crads\"; did you mean 'cards'? 'larder pipeline list' shows all"
        for words in [
            ["pipeline", "show", "crads"], ["run", "--pipeline", "crads", "http://a.example/1"],
            ["enqueue", "--pipeline", "crads", "http://a.example/1"],
            ["schedule", "set", "s", "--cron", "@daily", "--pipeline", "crads", "http://a.example/1"],
        ] {
            let outcome = try await scene.larder(words).run()
            #expect(outcome.code == 1, "\(outcome.errorText)")
            #expect(outcome.errorText.contains(near), "\(outcome.errorText)")
        }
        let none = try await scene.larder("pipeline", "show", "posters", "--json")
        let error = try fields(none.text)["error"] as? [String: Any]
        #expect(error?["message"] as? String == "unknown pipeline \"posters\"; 'larder pipeline list' shows all")
        let list = try scene.directory.write("url,pipeline\nhttp://a.example/1,card\n".utf8, to: "list.csv")
        let lines = try await scene.larder("enqueue", "--from", list)
        #expect(lines.errorText.contains("2: unknown pipeline 'card'; did you mean 'cards'?"), "\(lines.errorText)")
    }

    @Test func `a pipeline that SQL stored and workers cannot use is named, and the others are listed`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("pipeline", "set", "cards", "--variant", Variants.small)
        _ = try await scene.sql("SELECT larder.pipeline_set('bad', '{\"variants\":[]}')")
        let list = try await scene.larder("pipeline", "list")
        #expect(list.code == 0, "\(list.text)")
        #expect(list.lines.contains("bad: version 1, not usable: $.name: is missing"), "\(list.text)")
        #expect(list.text.contains("cards: version 1"))
        let show = try await scene.larder("pipeline", "show", "bad")
        #expect(show.code == 1)
        #expect(show.errorText.contains("pipeline bad version 1: $.name: is missing"))
    }

    @Test func `pipelines are stored, versioned, listed, shown and used`() async throws {
        let scene = try await Scene()
        let set = try await scene.larder(["pipeline", "set", "cards"] + Variants.all + ["--json"]).run()
        #expect(set.code == 0, "\(set.errorText)")
        #expect(try fields(set.lines[0])["version"] as? Int == 1)
        let shown = try await scene.larder("pipeline", "show", "cards")
        // The output of `show` is valid input; an equal pipeline is not a new version.
        let again = try await scene.larder("pipeline", "set", "cards", "--from", "-", input: shown.output)
        #expect(again.text == "cards: version 1\n", "\(again.errorText)")
        let next = try await scene.larder("pipeline", "set", "cards", "--variant", Variants.small)
        #expect(next.text == "cards: version 2\n")
        let listed = try await scene.larder("pipeline", "list", "--json").lines.map(fields)
        #expect(listed.map { $0["name"] as? String } == ["cards", "original"])
        #expect(listed[0]["version"] as? Int == 2)
        #expect(listed[0]["variants"] as? [String] == ["small"])
        #expect(try await scene.larder("pipeline", "list").text.hasPrefix("cards: version 2, small\n"))
        let whole = try fields(try #require(try await scene.larder("pipeline", "show", "cards", "--json").lines.last))
        #expect(whole["version"] as? Int == 2)
        #expect((whole["pipeline"] as? [String: Any])?["name"] as? String == "cards")
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let run = try RunLines(try await scene.larder("run", "--json", "--pipeline", "cards", url))
        #expect(run.jobs[0].variants.map(\.name) == ["small"])
        let status = try fields(
            try #require(try await scene.larder("status", "job:1", "--json").lines.last))
        #expect(status["pipeline"] as? String == "cards")
        #expect(status["version"] as? Int == 2)
        let unknown = try await scene.larder("pipeline", "show", "none", "--json")
        #expect(unknown.code == 1)
        #expect(try unknown.error.message.contains("none"))
        #expect(try await scene.faults() == [])
    }

    @Test(arguments: [
        (#"{"name":"p","variants":[{"name":"v","nonsense":1}]}"#, "$.variants[0].nonsense"),
        (#"{"name":"other","variants":[]}"#, "$.name"), (#"{"name":"p"}"#, "$.variants"), ("{", "JSON"),
        (#"{"name":"p","variants":[{"name":"v","format":"bmp","keySuffix":"k"}]}"#, "$.variants[0].format"),
    ])
    func `an invalid pipeline is refused with its JSON path`(text: String, named: String)
        async throws
    {
        let scene = try await Scene()
        let refused = try await scene.larder("pipeline", "set", "p", "--from", "-", "--json", input: Array(text.utf8))
        #expect(refused.code == 2)
        let error = try refused.error
        #expect(error.kind == "LarderErrorDomain 4", "\(error.message)")
        #expect(error.message.contains(named), "\(error.message)")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.pipeline") == "1")
    }
}
