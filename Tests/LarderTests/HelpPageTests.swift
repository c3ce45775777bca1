import JobQueue
import TestSupport
import Testing

@testable import CommandLine
@testable import Commands
@testable import Terminal

/// The content of help pages, and the advice in help and errors.
struct HelpPageTests {
    @Test(arguments: [40, 57, 80, 120, 200]) func `rows and paragraphs keep to the width`(width: Int) {
        let words = String(repeating: "twelve words of text that are to be wrapped at a width ", count: 6)
        for left in [4, 18, 30] {
            let row = WrappedText.row("--option VALUE", words, left: left, width: width)
            #expect(row.split(separator: "\n").allSatisfy { $0.count <= width }, "\(row)")
            #expect(row.split(whereSeparator: \.isWhitespace).dropFirst(2).joined(separator: " ") + " " == words)
        }
        let text = WrappedText.paragraphs("\(words)\n\n  kept   as it is\n\n\(words)", width: width)
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= width })
        #expect(text.contains("\n\n  kept   as it is\n\n"))
    }

    @Test func `the width is the terminal's, else COLUMNS, from 40 to 200`() {
        #expect(PageWidth.of(terminal: 96, variable: "50") == 96)
        #expect(PageWidth.of(terminal: nil, variable: "50") == 50)
        #expect(PageWidth.of(terminal: nil, variable: "x") == 120)
        #expect(PageWidth.of(terminal: 3, variable: nil) == 40)
        #expect(PageWidth.of(terminal: 1000, variable: nil) == 200)
    }

    @Test(arguments: CommandTable.larder.all.map(\.name)) func `the groups have every option once`(name: String) throws
    {
        let command = try #require(CommandTable.larder.all.first { $0.name == name })
        let groups = OptionGroup.groups(of: command, in: .larder)
        let names = groups.flatMap(\.options).map(\.name)
        #expect(names.sorted() == (command.options + CommandTable.commonOptions).map(\.name).sorted())
        #expect(groups[0].options.count <= 15)
    }

    @Test func `the short help of run shows ten options and says where the others are`() async throws {
        let short = try await LarderCommand("run", "--help").run().text
        let all = try await LarderCommand("run", "--help-all").run().text
        #expect(short.matches(of: /(?m)^  (-\w,|   ) --/).count == 15)
        #expect(short.contains("'larder run --help-all' shows "))
        #expect(!short.contains("--max-pixels"))
        for title in ["options", "more options", "options for downloads", "options for origins", "options for images"] {
            #expect(all.contains("\n\(title):\n"), "\(title)")
        }
        #expect(all.contains("--max-pixels"))
        #expect(!all.contains("--help-all' shows"))
        let narrow = try await LarderCommand("run", "--help-all", environment: ["COLUMNS": "60"]).run().text
        let options = narrow.split(separator: "\noptions:\n")[1].split(separator: "\n")
        let words = options.filter { $0.split(separator: " ").count > 1 && $0.count > 60 }
        #expect(words.isEmpty, "\(words)")
    }

    @Test(arguments: ["cache", "db", "blocklist"])
    func `the help of a family lists its commands and how to see one`(word: String) async throws {
        let commands = CommandTable.larder.all.filter { $0.words.first == word }
        let page = try await LarderCommand("help", word).run()
        let names = page.text.matches(of: /(?m)^\x20{2}([a-z]+ [a-z]+)\x20{2}/).map { String($0.1) }
        #expect(page.code == 0)
        #expect(names == commands.map(\.name))
        for command in commands { #expect(page.text.contains(command.summary.prefix(40))) }
        #expect(page.text.contains("'larder help \(commands[0].name)'"))
        #expect(!page.text.contains("\noptions:\n"))
        let all = try await LarderCommand("help", word, "--help-all").run().text
        #expect(all.matches(of: /(?m)^usage: larder [a-z]/).count == commands.count)
        #expect(try await LarderCommand("help", word, "--json").run().lines.count == commands.count)
    }

    @Test func `the first help shows twelve commands, and help --all every one of at most 45`() async throws {
        let all = CommandTable.larder.all.map(\.name)
        #expect(all.count <= 45)
        let first = try await LarderCommand("--help").run().text
        let names = first.matches(of: /(?m)^\x20{2}([a-z]+( [a-z]+)?)\x20{2}/).map { String($0.1) }
        #expect(names.count == 12)
        #expect(names.allSatisfy(all.contains), "\(names)")
        #expect(first.contains("'larder help --all' lists all \(all.count) commands"))
        let whole = try await LarderCommand("help", "--all").run().text
        #expect(whole.matches(of: /(?m)^\x20{2}([a-z]+( [a-z]+)?)\x20{2}/).map { String($0.1) } == all)
    }

    @Test(arguments: [
        ("blocklist clear --yes", "blocklist remove", "--all --yes"), ("health --json", "status", "--health --json"),
        ("--json ls", "status", "--json"), ("cache ls a", "cache list", "a"), ("delete b", "discard", "--delete b"),
        ("completion bash", "manual", "--completion bash"), ("queue list", "status", "--queues"),
    ])
    func `other words of a command are found with the option that they imply`(
        line: String, name: String, rest: String
    ) throws {
        let (command, words) = try CommandTable.larder.find(line.split(separator: " ").map { Array($0.utf8) })
        #expect(command.name == name)
        #expect(words.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ") == rest)
    }

    @Test func `every spelling names one command`() {
        let spellings = CommandTable.larder.all.flatMap(\.spellings).map(\.words)
        #expect(Set(spellings).count == spellings.count)
    }

    @Test func `the man page of a command has its other words`() throws {
        let pages = ManualPage.all(of: .larder)
        let page = try #require(pages.first { $0.name == "larder-blocklist-remove" })
        #expect(page.text.contains("Also 'larder blocklist clear'."))
    }

    @Test func `a word is near when at most a third of its letters differ`() {
        #expect(NearestWord.distance(Array("stauts".utf8), Array("status".utf8)) == 1)
        #expect(NearestWord.distance(Array("".utf8), Array("abc".utf8)) == 3)
        #expect(NearestWord.distance(Array("kitten".utf8), Array("sitting".utf8)) == 3)
        #expect(NearestWord.to("stauts", among: ["start", "status"]) == "status")
        #expect(NearestWord.to("nonsense", among: CommandTable.larder.all.map(\.name)) == nil)
        #expect(NearestWord.to(String(repeating: "a", count: 1000), among: ["a"]) == nil)
    }

    @Test func `a denied permission is answered with the role that has it`() throws {
        let denied = QueueError(.refused, "permission denied for function batch_cancel", sqlState: "42501")
        let cancel = try #require(CommandTable.larder.all.first { $0.name == "cancel" })
        #expect(
            RequiredRole.remedy(denied, of: cancel, login: "shop")
                == "'larder cancel' needs larder_admin: GRANT larder_admin TO \"shop\"")
        #expect(RequiredRole.remedy(QueueError(.refused, "x"), of: cancel, login: nil) == nil)
        let refused = QueueError(.loginRefused, "permission denied for database larder", sqlState: "42501")
        #expect(RequiredRole.remedy(refused, of: cancel, login: "shop") == nil)
        for name in ["report", "status", "serve"] {
            let command = try #require(CommandTable.larder.all.first { $0.name == name })
            #expect(RequiredRole.names(for: command) == ["larder_reader"])
        }
        let migrate = try #require(CommandTable.larder.all.first { $0.name == "migrate" })
        #expect(RequiredRole.remedy(denied, of: migrate, login: nil) == nil)
        #expect(RequiredRole.login("postgresql://shop@db/larder") == "shop")
        #expect(RequiredRole.login("postgresql:///larder?host=/tmp&user=shop") == "shop")
        #expect(RequiredRole.login("postgresql:///larder") == nil)
    }

    @Test func `a login without the role is told to be granted it`() async throws {
        let scene = try await Scene()
        let login = "denied_\(UInt32.random(in: 0 ... .max))"
        _ = try await scene.sql("CREATE ROLE \(login) LOGIN PASSWORD '\(login)'")
        _ = try await scene.sql("GRANT larder_producer TO \(login)")
        var command = scene.larder(["blocklist", "clear", "--yes"])
        command.environment["LARDER_DATABASE_URL"] = scene.database.url + "&user=\(login)&password=\(login)"
        let outcome = try await command.run()
        var run = scene.larder(["run", "http://a.example/a.jpg"])
        run.environment["LARDER_DATABASE_URL"] = command.environment["LARDER_DATABASE_URL"]
        let refused = try await run.run()
        #expect(refused.code == 1)
        #expect(refused.errorText.contains("GRANT larder_producer, larder_worker TO"), "\(refused.errorText)")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.batch") == "0")
        _ = try await scene.sql("REVOKE larder_producer FROM \(login)")
        _ = try await scene.sql("DROP ROLE \(login)")
        #expect(outcome.code == 1)
        #expect(outcome.errorText.contains("GRANT larder_admin TO \"\(login)\""), "\(outcome.errorText)")
    }
}
