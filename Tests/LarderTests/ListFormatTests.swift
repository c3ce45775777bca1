import Foundation
import Glibc
import JobQueue
import TestSupport
import Testing

@testable import Lists

/// Lists in other formats than a URL a line.
@Suite(.timeLimit(.minutes(5)))
struct ListFormatTests {
    private static let other = "; --column NAME reads the URLs of another column"

    private static let jobs = """
        SELECT string_agg(concat_ws(' ', j.url, j.priority, p.name, j.meta, EXISTS (
            SELECT FROM larder_data.scheduled s WHERE s.job_id = j.id)), E'\\n' ORDER BY j.url)
        FROM larder_data.job j JOIN larder_data.pipeline p ON p.id = j.pipeline_id
        """

    @Test func `CSV, TSV and JSON lines name settings of their URLs`() async throws {
        let scene = try await Scene()
        _ = try await scene.sql("SELECT larder.pipeline_set('card', '{\"variants\": []}')")
        let csv =
            "\u{FEFF}Name, URL,priority,shop,pipeline,at,meta\r\n# comment\r\n\r\n"
            + "one,http://a.example/1,3,x,card,,\"{\"\"sku\"\":7}\"\r\n\"two\nlines\",\"http://a.example/2,w\",,,,+1h,\r\n"
        let tsv = "priority\turl\tmeta\n2\thttp://a.example/3\t{\"a\":[1,null]}\n\thttp://a.example/4\n"
        let json =
            #"{"url":"http://a.example/5","priority":1,"name":"five","meta":{"big":12345678901234567}}"# + "\n"
            + #""http://a.example/6""# + "\n"
        for (text, name) in [(csv, "list"), (tsv, "second"), (json, "third")] {
            let file = try scene.directory.write(text.utf8, to: name)
            let outcome = try await scene.larder("enqueue", "--batch", name, "--from", file)
            #expect(outcome.code == 0, "\(outcome.errorText)")
        }
        #expect(
            try await scene.sql(Self.jobs) == """
                http://a.example/1 3 card {"name":"one","sku":7} f
                http://a.example/2,w 4 original {"name":"two\\nlines"} t
                http://a.example/3 2 original {"a":[1,null]} f
                http://a.example/4 4 original f
                http://a.example/5 1 original {"big":12345678901234567,"name":"five"} f
                http://a.example/6 4 original f
                """)
    }

    @Test(arguments: [
        ("2026-12-24T18:00:00Z", 0), ("2026-12-24T19:00:00+01:00", 0), ("2026-12-24T10:00:00-0800", 0),
        ("2026-12-24T20:00:00+02", 0), ("2026-12-24T18:00:00.5z", 0.5),
    ])
    func `a time has an offset, with or without minutes`(text: String, seconds: Double) {
        #expect(EnqueueRequest.Start(spelling: text) == .at(secondsSince1970: 1_798_135_200 + seconds))
    }

    @Test(arguments: [
        "2026-02-30T00:00:00Z", "2026-12-24T25:61:00Z", "2026-12-24T18:00:00Zoo", "2026-12-24T18:00:00", "2026-12-24",
        "2026-1-2T03:04:05Z", "12026-12-24T18:00:00Z", "2026-12-24T18:00:00+99:99", " 2026-12-24T18:00:00Z", "+1y",
    ])
    func `a day or time that does not exist is no time, nor is one with other text`(text: String) {
        #expect(EnqueueRequest.Start(spelling: text) == nil)
    }

    @Test func `compressed lists and several lists are read, and their names tell the format`() async throws {
        let scene = try await Scene()
        let lists = try (1...3).map {
            try scene.directory.write("http://a.example/\($0),3\n".utf8, to: "\($0).csv")
        }
        for (program, list) in [("gzip", lists[1]), ("zstd", lists[2])] {
            #expect(try await scene.shell("\(program) -q \(list)").code == 0)
        }
        let outcome = try await scene.larder(
            "enqueue", "http://a.example/0", "--batch", "all", "--from", lists[0], "--from", lists[1] + ".gz",
            "--from", lists[2] + ".zst", "--from", "-", input: Array("http://a.example/x,y".utf8))
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(
            try await scene.sql("SELECT string_agg(url, ' ' ORDER BY id) FROM larder_data.job")
                == "http://a.example/0 http://a.example/1 http://a.example/2 http://a.example/3 http://a.example/x,y")
        let damaged = try scene.directory.write([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3], to: "damaged.gz")
        let refused = try await scene.larder("enqueue", "--json", "--from", damaged)
        #expect(refused.code == 1)
        #expect(try refused.error.message == "cannot read \(damaged): its compressed data is damaged")
    }

    @Test func `a bad line costs itself alone and is named by file and line`() async throws {
        let scene = try await Scene()
        let list = """
            url,priority,pipeline,at,meta
            http://a.example/1,10
            http://a.example/2,\u{1B}[2J
            http://a.example/3,,nosuch
            http://a.example/4,,,tomorrow
            http://a.example/5,,,,[]
            ,5
            http://a.example/6,"5
            http://a.example/7,5
            http://a.example/8,,,,"{""long"":""\(String(repeating: "x", count: 4_096))""}"
            http://a.example/9,5
            """
        let file = try scene.directory.write(list.utf8, to: "bad.csv")
        let outcome = try await scene.larder("enqueue", "--batch", "b", "--from", file)
        #expect(outcome.code == 1)
        #expect(outcome.text == "batch b (1): 2 URLs: 2 inserted; 8 bad lines\n")
        let notes = outcome.errorText.split(separator: "\n").map { $0.dropFirst("larder: \(file):".count) }
        #expect(
            notes.sorted { (Int($0.prefix { $0.isNumber }) ?? 0) < (Int($1.prefix { $0.isNumber }) ?? 0) } == [
                "2: the priority '10' is not 0 to 9", "3: the priority '\\u{1B}[2J' is not 0 to 9",
                "4: unknown pipeline 'nosuch'",
                "5: 'tomorrow' is neither a time such as 2026-11-21T18:00:00Z nor a delay such as +10m",
                "6: meta is not a JSON object", "7: no url", "8: a quote is in the wrong place",
                "10: meta is longer than 4096 bytes",
            ])
        #expect(
            try await scene.sql("SELECT string_agg(url, ' ' ORDER BY id) FROM larder_data.job")
                == "http://a.example/7 http://a.example/9")

        let lines = try scene.directory.write("{\"url\":1}\n{\"url\":\n\"http://a.example/7\"".utf8, to: "bad.jsonl")
        let json = try await scene.larder("enqueue", "--json", "--from", lines)
        #expect(json.code == 1)
        #expect(json.errorText == "")
        let answers = try json.lines.map(fields)
        #expect(answers.map { $0["answer"] as? String } == ["invalid", "invalid", "joined"])
        #expect(answers.map { $0["line"] as? Int } == [1, 2, nil])
        #expect((answers[0]["error"] as? [String: Any])?["message"] as? String == "url has the wrong type")
    }

    @Test(arguments: ["utf16", "program"])
    func `a file that is no text is refused, and nothing is enqueued`(kind: String) async throws {
        let scene = try await Scene()
        let utf16 = Array("\u{FEFF}http://a.example/1\r\n".utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] })
        let path = kind == "utf16" ? try scene.directory.write(utf16, to: "list.txt") : "/bin/ls"
        let outcome = try await scene.larder("enqueue", "--batch", "b", "--from", path)
        #expect(outcome.code == 1)
        #expect(outcome.errorText == "larder: cannot read \(path): not text; UTF-16?\n")
        #expect(try await scene.sql("SELECT count(*) FROM larder.progress") == "0")
    }

    @Test func `a shown line is cut`() async throws {
        let scene = try await Scene()
        let long = String(repeating: "x", count: 7_000)
        let csv = "url,priority\nhttp://a.example/1,\(long)\nftp://a.example/\(long),\nhttp:/\(long),\n"
        let outcome = try await scene.larder("enqueue", "--from", "-", input: csv.utf8)
        let notes = outcome.errorText.split(separator: "\n")
        #expect(outcome.code == 1, "\(outcome.errorText)")
        #expect(notes.count == 3, "\(outcome.errorText)")
        #expect(notes.allSatisfy { $0.count < 400 && $0.contains("x…") }, "\(notes)")
    }

    @Test(arguments: [
        ("image_url,price\nhttp://a.example/1,3\n", "; the nearest is 'image_url'\(other)"),
        ("urls,priority\n", "; the nearest is 'urls'\(other)"), ("id,price\n", "; it has 'id', 'price'\(other)"),
        (
            "url;priority\nhttp://a.example/1;3\n",
            "; its columns are separated by semicolons, not commas; --delimiter ';' reads it"
        ),
    ])
    func `a header without url is an error that names the nearest column`(list: String, end: String) async throws {
        let scene = try await Scene()
        let file = try scene.directory.write(list.utf8, to: "list.csv")
        let outcome = try await scene.larder("enqueue", "--json", "--batch", "b", "--from", file)
        #expect(outcome.code == 1)
        #expect(outcome.lines.count == 1)
        #expect(try outcome.error.message == "\(file):1: the header has no column url\(end)")
        #expect(try await scene.sql("SELECT count(*) FROM larder.progress") == "0")
    }

    @Test func `a misspelt column and field are named with the nearest, once`() async throws {
        let scene = try await Scene()
        let csv = try scene.directory.write("url,Priorty,alt,shop\nhttp://a.example/1,3,x,y\n".utf8, to: "a.csv")
        let row = #"{"url":"http://a.example/2","prio":1,"size":2}"# + "\n"
        let json = try scene.directory.write((row + row).utf8, to: "b.jsonl")
        let outcome = try await scene.larder("enqueue", "--from", csv, "--from", json)
        #expect(outcome.code == 0)
        #expect(
            outcome.errorText == """
                larder: \(csv): 'priorty' is no column and is ignored; did you mean 'priority'?
                larder: \(json): 'prio' is no column and is ignored; did you mean 'priority'?

                """)
    }

    @Test func `a dry run answers and changes nothing`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "http://a.example/1", "--batch", "b", "--open")
        let everything = """
            SELECT md5(string_agg(t::text, ' ')) FROM (
                SELECT query_to_xml(format('SELECT * FROM larder_data.%I ORDER BY 1::text', c.relname), false, false, '')::text
                FROM pg_class c WHERE c.relnamespace = 'larder_data'::regnamespace AND c.relkind = 'r'
                    AND c.relname IN ('batch', 'job', 'ready', 'pipeline', 'batch_delta', 'job_item', 'origin', 'batch_source')
                ORDER BY c.relname) AS t
            """
        let before = try await scene.sql(everything)
        let list = "http://a.example/1\nhttp://b.example/\u{202E}2\nftp://a.example/3\n"
        let outcome = try await scene.larder("enqueue", "--dry-run", "--batch", "b", "--from", "-", input: list.utf8)
        #expect(outcome.code == 1)
        #expect(
            outcome.text == """
                joined\thttp://a.example/1
                inserted\thttp://b.example/\\u{202E}2
                dry run: 3 URLs: 1 inserted, 1 invalid, 1 joined

                """)
        #expect(outcome.errorText.contains("larder: standard input:3: ftp://a.example/3: "), "\(outcome.errorText)")
        let adHoc = try await scene.larder(["enqueue", "--dry-run", "--json", "http://a.example/1"] + Variants.all)
            .run()
        #expect(try adHoc.lines.map { try fields($0)["answer"] as? String } == ["inserted"])
        #expect(try await scene.sql(everything) == before)
    }

    @Test func `a signal keeps what was read, and the same command continues`() async throws {
        let scene = try await Scene()
        let list = scene.directory.file("list")
        try #require(mkfifo(list, 0o600) == 0)
        let pipe = open(list, O_RDWR | O_CLOEXEC)
        try #require(pipe >= 0)
        defer { close(pipe) }
        let lines = (1...1_000).map { "http://a.example/\($0)\n" }
        let text = Array((lines[..<700].joined() + "http://a.exam").utf8)
        try #require(write(pipe, text, text.count) == text.count)
        let command = scene.larder(["enqueue", "--batch", "nightly", "--from", list])
        let running = try command.start()
        #expect(
            await running.reaches { _ in
                var left: Int32 = 1
                return ioctl(pipe, UInt(FIONREAD), &left) == 0 && left == 0
            })
        running.signal(SIGTERM)
        let first = await running.outcome()
        #expect(first.code == 1)
        #expect(
            first.errorText == """
                larder: stopped by a signal after line 700 of \(list), 700 URLs enqueued; batch nightly is open and \
                contains the URLs enqueued before; the same command continues there

                """)
        #expect(try await scene.sql("SELECT state || total FROM larder.progress") == "open700")
        try FileManager.default.removeItem(atPath: list)
        try Data(lines.joined().utf8).write(to: URL(filePath: list))
        #expect(try await command.run().code == 0)
        #expect(try await scene.sql("SELECT state || total || joined FROM larder.progress") == "sealed10000")
    }

    @Test func `meta reaches records, views and reports, also of a batch that joined`() async throws {
        let scene = try await Scene()
        let good = try scene.serve("plain.jpg", at: "/good.jpg")
        let bad = scene.origin.url("/missing.jpg")
        for (batch, number) in [("one", 1), ("two", 2)] {
            let list =
                "{\"url\":\"\(good)\",\"meta\":{\"n\":\(number)}}\n{\"url\":\"\(bad)\",\"meta\":{\"m\":\(number)}}\n"
            let outcome = try await scene.larder("enqueue", "--batch", batch, "--from", "-", input: list.utf8)
            #expect(outcome.code == 0, "\(outcome.errorText)")
        }
        #expect(try await scene.larder("work", "--drain").code == 1)
        #expect(
            try await scene.sql(
                "SELECT string_agg(meta::text, ' ' ORDER BY meta::text) FROM larder.record WHERE items > 0")
                == #"{"m":1} {"m":2} {"n":1} {"n":2}"#)
        #expect(
            try await scene.sql("SELECT string_agg(meta::text, ' ' ORDER BY meta::text) FROM larder.failed")
                == #"{"m":1} {"m":2}"#)
        for (batch, number) in [("one", 1), ("two", 2)] {
            let report = try fields(try await scene.larder("report", batch, "--json").text)
            let failure = try #require((report["failures"] as? [[String: Any]])?.first)
            #expect(failure["meta"] as? [String: Int] == ["m": number])
            let files = try await scene.larder("report", batch, "--json", "--files").lines.map(fields)
            #expect(files.compactMap { ($0["meta"] as? [String: Int])?["n"] } == [number])
        }
    }
}
