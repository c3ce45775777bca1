import TestSupport
import Testing

@testable import CommandLine
@testable import Commands
@testable import Terminal

/// `--column` and `--delimiter` of CSV and TSV lists.
@Suite(.timeLimit(.minutes(5)))
struct ListColumnTests {
    private static let list = "Name;Image Link;priority;url\nx;http://a.example/1;3;http://b.example/1\n"

    struct Table: Sendable, CustomTestStringConvertible {
        let text: String
        let options: [String]
        var name = "list"
        var testDescription: String { "\(options) \(name)" }
    }

    @Test(arguments: [
        Table(text: list, options: ["--column", "Image Link", "--delimiter", ";"]),
        Table(text: list, options: ["--column", "image link", "--delimiter", ";"]),
        Table(text: list, options: ["--column", "2", "--delimiter", ";"]),
        Table(text: list.replacing(";", with: ","), options: ["--column", "Image Link"], name: "list.csv"),
        Table(text: list.replacing(";", with: "\t"), options: ["--column", "Image Link"]),
        Table(text: list.replacing(";", with: "\t"), options: ["--column", "2"], name: "list.tsv"),
        Table(
            text: list.replacing(";", with: "\t"), options: ["--column", "2", "--delimiter", "tab"], name: "list.csv"),
        Table(text: "x,http://a.example/1\n", options: ["--column", "2"]),
        Table(text: "url;priority\nhttp://a.example/1;3\n", options: ["--delimiter", ";"]),
    ])
    func `the given column has the URLs, and the others keep their meaning`(table: Table) async throws {
        let scene = try await Scene()
        let file = try scene.directory.write(table.text.utf8, to: table.name)
        let outcome = try await scene.larder(["enqueue", "--from", file] + table.options).run()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.errorText == "", "\(outcome.errorText)")
        let jobs = "SELECT string_agg(url || ' ' || priority, ',') FROM larder_data.job"
        let priority = table.text.contains("priority") ? 3 : 4
        #expect(try await scene.sql(jobs) == "http://a.example/1 \(priority)")
    }

    @Test(arguments: [
        Table(text: list, options: ["--column", "Imge Link", "--delimiter", ";"], name: "did you mean 'Image Link'?"),
        Table(text: list, options: ["--column", "photo", "--delimiter", ";"], name: "it has 'Name', 'Image Link', "),
        Table(text: list, options: ["--column", "5", "--delimiter", ";"], name: "no column 5; the line has 4 columns"),
    ])
    func `a column that the list does not have is an error before anything is enqueued`(table: Table) async throws {
        let scene = try await Scene()
        let file = try scene.directory.write(table.text.utf8, to: "list")
        let outcome = try await scene.larder(["run", "--json", "--batch", "b", "--from", file] + table.options).run()
        #expect(outcome.code == 1)
        let message = try outcome.error.message
        #expect(message.hasPrefix("\(file):1: "), "\(message)")
        #expect(message.contains(table.name), "\(message)")
        #expect(try await scene.sql("SELECT count(*) FROM larder.progress") == "0")
    }

    @Test(arguments: [
        (["--delimiter", "ab"], "--delimiter: 'ab'"), (["--delimiter", "\""], "--delimiter: '\"'"),
        (["--delimiter", "é"], "--delimiter: 'é'"), (["--column", "0"], "--column: '0'"),
        (["--column", "url", "--format", "lines"], "the formats csv and tsv, not lines"),
        (["--delimiter", ";", "--format", "jsonl"], "the formats csv and tsv, not jsonl"),
        (["--column", "url"], "this list is jsonl"),
    ])
    func `wrong values and lists without columns are refused`(options: [String], part: String) async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("{\"url\":\"http://a.example/1\"}\n".utf8, to: "list.jsonl")
        let environment = [
            "LARDER_HOME": directory.file("home"),
            "LARDER_DATABASE_URL": "postgresql:///larder?host=\(directory.file("none"))",
        ]
        let words = ["enqueue", "--from", file] + options
        let error = await #expect(throws: CommandError.self) {
            try await Program.larder.perform(words.map { Array($0.utf8) }, environment: environment)
        }
        #expect(error?.exit == .wrongUsage)
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }
}
