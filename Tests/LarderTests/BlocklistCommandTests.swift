import JobQueue
import TestSupport
import Testing

/// The blocklist commands.
@Suite(.timeLimit(.minutes(5)))
struct BlocklistCommandTests {
    @Test func `added URLs are listed and blocked until they are removed`() async throws {
        let scene = try await Scene()
        let url = scene.origin.url("/a.jpg")
        let hidden = "http://user:secret@h/b.jpg"
        let added = try await scene.larder(
            "blocklist", "add", url, hidden, "--for", "2h", "--reason", "legal", "--json")
        #expect(added.code == 0)
        let lines = try added.lines.map(fields)
        #expect(lines.map { $0["url"] as? String } == [url, "http://h/b.jpg"])
        #expect(lines.allSatisfy { $0["blocked"] as? Bool == true })
        let listed = try await scene.larder("blocklist", "list", "--json").lines.map(fields)
        #expect(Set(listed.compactMap { $0["url"] as? String }) == [url, "http://h/b.jpg"])
        #expect(listed.allSatisfy { $0["message"] as? String == "legal" && $0["code"] as? Int == 1003 })
        let shown = try await scene.larder("blocklist", "list")
        #expect(shown.lines.count == 2)
        #expect(shown.text.contains("legal"))
        #expect(!shown.text.contains("secret"))
        #expect(
            try await scene.sql("SELECT count(*) FROM larder.blocklist WHERE until < now() + interval '3 h'") == "2")
        let refused = try await scene.larder("enqueue", url)
        #expect(refused.code == 1)
        #expect(refused.errorText.contains("the URL is blocked; larder blocklist list says why"))
        #expect(!refused.errorText.contains("failure"), "it was blocked by hand")

        let removed = try await scene.larder("blocklist", "remove", url, "http://never/", "--json")
        #expect(removed.code == 1)
        #expect(try removed.lines.map { try fields($0)["removed"] as? Bool } == [true, false])
        #expect(try await scene.larder("blocklist", "remove", hidden).text == "removed: http://h/b.jpg\n")
        #expect(try await scene.larder("enqueue", url).code == 0)
        let absent = try await scene.larder("blocklist", "remove", "http://never/")
        #expect(absent.code == 1)
        #expect(absent.errorText.contains("http://never/"))
        #expect(try await scene.faults() == [])
    }

    @Test func `import reports lines that are not URLs with their numbers and blocks the others`() async throws {
        let scene = try await Scene()
        let list = "http://h/1\n\n  nonsense\r\n http://h/2 \nftp://h/3\nhttp://user:s3cret@\n"
        let file = try scene.directory.write(list.utf8, to: "list")
        let outcome = try await scene.larder("blocklist", "add", "--from", file)
        #expect(outcome.code == 1)
        #expect(outcome.text == "2 URLs blocked, 3 lines refused\n")
        let printed = outcome.errorText.split(separator: "\n").map(String.init)
        #expect(printed.count == 3)
        #expect(!outcome.errorText.contains("s3cret"))
        for (line, number) in zip(printed, [3, 5, 6]) {
            #expect(line.hasPrefix("larder: \(file), line \(number): "), "\(line)")
        }
        #expect(
            try await scene.sql("SELECT string_agg(url, ' ' ORDER BY url) FROM larder.blocklist")
                == "http://h/1 http://h/2")
        let one = try await scene.larder("blocklist", "add", "--from", "-", input: Array("http://h/4\nx".utf8))
        #expect(one.text == "1 URL blocked, 1 line refused\n")
    }

    @Test func `import reads a long file and clear empties the blocklist`() async throws {
        let scene = try await Scene()
        let long = "http://h/" + String(repeating: "x", count: 9000)
        let lines = (0..<1200).map { "http://h/\($0)" } + [long, ""]
        let imported = try await scene.larder(
            "blocklist", "add", "--from", "-", "--reason", "export", "--json",
            input: Array(lines.joined(separator: "\n").utf8) + [0x0A, 0xC3, 0x28, 0x0A])
        #expect(imported.code == 1)
        let totals = try fields(try #require(imported.lines.last))
        #expect(totals["blocked"] as? Int == 1200)
        #expect(totals["refused"] as? Int == 2)
        #expect(imported.errorText.split(separator: "\n").count == 2)
        // More than one page.
        let listed = try await scene.larder("blocklist", "list", "--json")
        #expect(Set(listed.lines).count == 1200)
        let missing = try await scene.larder("blocklist", "add", "--from", scene.directory.file("none"), "--json")
        #expect(missing.code == 1)
        #expect(try missing.error.message.contains("none"))
        let cleared = try fields(
            try #require(try await scene.larder("blocklist", "clear", "--yes", "--json").lines.last))
        #expect(cleared["removed"] as? Int == 1200)
        #expect(try await scene.larder("blocklist", "clear", "--yes").text == "0 URLs removed\n")
        #expect(try await scene.larder("blocklist", "list").text == "")
    }
}
