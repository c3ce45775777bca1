import Foundation
import Glibc
import JobQueue
import TestSupport
import Testing

@testable import CommandLine
@testable import Commands

/// Configuration files: what they set, what precedes them, and what is wrong with them.
@Suite(.timeLimit(.minutes(5)))
struct ConfigurationTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func config(_ text: String, _ words: String..., environment: [String: String] = [:]) async throws
        -> CommandOutcome
    {
        try directory.write(text.utf8, to: "larder.toml")
        var command = LarderCommand(environment: environment.merging(["LARDER_HOME": directory.path]) { own, _ in own })
        command.arguments = ["config"] + words
        return try await command.run()
    }

    private func shown(_ outcome: CommandOutcome) throws -> [String: [String: Any]] {
        var settings: [String: [String: Any]] = [:]
        for line in outcome.lines {
            let line = try fields(line)
            settings[try #require(line["setting"] as? String)] = line
        }
        return settings
    }

    @Test func `options precede variables, variables precede files, files precede defaults`() async throws {
        let text = "[limits]\nslots = 8\ngrace = \"5s\"\n[download]\nallow-port = [81, 82]\nrobots-txt = true\n"
        let outcome = try await config(text, "show", "--json", environment: ["LARDER_GRACE": "7s"])
        #expect(outcome.code == 0, "\(outcome.errorText)")
        let settings = try shown(outcome)
        let file = directory.file("larder.toml")
        func expect(_ name: String, _ value: String?, _ source: String) {
            #expect(settings[name]?["value"] as? String == value, "\(name)")
            #expect(settings[name]?["source"] as? String == source, "\(name)")
        }
        expect("limits.slots", "8", "\(file):2")
        expect("limits.grace", "7s", "LARDER_GRACE")
        expect("download.allow-port", "81,82", "\(file):5")
        expect("download.robots-txt", "true", "\(file):6")
        expect("limits.max-body", "32MiB", "default")
        #expect(settings.count == SettingTable.larder.all.count)
    }

    @Test func `the value of the cache is its directory, and its default the one under LARDER_HOME`() async throws {
        let standard = directory.path + "/cache"
        for (environment, value) in [([:], standard), (["LARDER_CACHE": "/srv/cache"], "/srv/cache")] {
            let settings = try shown(try await config("", "show", "--json", environment: environment))
            #expect(settings["cache.dir"]?["value"] as? String == value)
            #expect(settings["cache.dir"]?["default"] as? String == standard)
        }
        #expect(try await config("", "show").text.contains("cache.dir\t\(standard)\tdefault\n"))
    }

    @Test func `check names the variables of wrong and misspelt settings`() async throws {
        let environment = ["LARDER_SLOTS": "many", "LARDER_SLOT": "3"]
        let outcome = try await config("", "check", environment: environment)
        #expect(outcome.code == 2, "\(outcome.errorText)")
        #expect(outcome.errorText == "", "\(outcome.errorText)")
        #expect(
            outcome.lines == [
                "LARDER_SLOTS: 'many' is not a whole number from 1 to 10000",
                "LARDER_SLOT is not a setting and is ignored; did you mean LARDER_SLOTS?",
            ])
    }

    @Test func `the file of --config is the only one, and LARDER_CONFIG is its variable`() async throws {
        try directory.write("[limits]\nslots = 3\n".utf8, to: "own.toml")
        let own = directory.file("own.toml")
        for (words, environment) in [(["--config", own], [:]), ([], ["LARDER_CONFIG": own])] {
            try directory.write("[limits]\ngrace = \"1s\"\n".utf8, to: "larder.toml")
            var command = LarderCommand(
                environment: environment.merging(["LARDER_HOME": directory.path]) { own, _ in own })
            command.arguments = ["config", "show", "--json"] + words
            let settings = try shown(try await command.run())
            #expect(settings["limits.slots"]?["value"] as? String == "3")
            #expect(settings["limits.grace"]?["source"] as? String == "default")
        }
        let missing = try await LarderCommand("config", "show", "--config", directory.file("none.toml")).run()
        #expect(missing.code == 1)
        #expect(missing.errorText.contains("none.toml"))
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let text: String
        let message: String
        var testDescription: String { text }
    }

    @Test(arguments: [
        Fault(text: "[cach]\n", message: ":1: [cach] is not a section; did you mean 'cache'?"),
        Fault(text: "slots = 3\n", message: ":1: [slots] is not a section"),
        Fault(
            text: "[cache]\nmax-agee = 1\n",
            message: ":2: cache.max-agee is not a setting; did you mean 'cache.max-age'?"),
        Fault(
            text: "[download]\nmax-bdy = 1\n",
            message: ":2: download.max-bdy is not a setting; did you mean 'limits.max-body'?"),
        Fault(text: "[limits]\nslots = true\n", message: ":2: limits.slots must be a string or a number"),
        Fault(text: "[limits]\nslots = 1979-05-27\n", message: ":2: limits.slots must be a string or a number"),
        Fault(text: "[limits.slots]\na = 1\n", message: ":1: limits.slots is not a setting"),
        Fault(text: "[limits]\nslots = 0\n", message: ":2: limits.slots: '0' is not a whole number from 1 to 10000"),
        Fault(text: "[limits]\nmax-body = \"much\"\n", message: ":2: limits.max-body: 'much' is not a size"),
        Fault(text: "[log]\nformat = \"xml\"\n", message: ":2: log.format: 'xml' is not one of text, json"),
        Fault(text: "[metrics]\nlisten = \"x:y:z\"\n", message: ":2: metrics.listen: 'x:y:z' is not HOST:PORT"),
        Fault(text: "[download]\nrobots-txt = 1\n", message: ":2: download.robots-txt must be true or false"),
        Fault(text: "[download]\nallow-port = [[1]]\n", message: ":2: download.allow-port must be a list"),
        Fault(
            text: "[origins.\"a\"]\nrat = 1\n", message: ":2: origins.\"a\".rat is not a setting; did you mean 'rate'?"),
        Fault(text: "[origins.\"a\"]\nrate = 0\n", message: ":2: origins.\"a\".rate must be a number from 0.001"),
        Fault(
            text: "[credentials.cdn]\norigins = [\"https://a\"]\nuser = \"u\"\npassword = \"hush\"\n",
            message: ":4: credentials.cdn.password must be { file = \"PATH\" } or { env = \"NAME\" }"),
        Fault(
            text: "[credentials.cdn]\norigins = [\"https://a\"]\nheaders = { A = { env = \"NO_SUCH\" } }\n",
            message: ":3: credentials.cdn.headers.A: the variable NO_SUCH is not set"),
        Fault(
            text: "[credentials.cdn]\nuser = \"u\"\n", message: ":1: credentials.cdn.origins: is missing"),
        Fault(
            text: "[coders.mp4]\nsignature = \"6\"\ncommand = \"/bin/true\"\n",
            message: ":1: coders.mp4.signature: '6' must be hexadecimal digits"),
        Fault(text: "[coders.mp4]\nsignature = \"66\"\n", message: ":1: coders.mp4.command: is missing"),
        Fault(
            text: "[coders.jpeg]\nsignature = \"66\"\ncommand = \"/bin/true\"\n",
            message: ":1: coders.jpeg.name: is the name of a built-in format"),
        Fault(
            text: "[coders.mp4]\ncomand = \"/bin/true\"\n",
            message: ":2: coders.mp4.comand is not a setting; did you mean 'command'?"),
        Fault(text: "[coders.mp4]\nread = 1\n", message: ":2: coders.mp4.read must be a string or a list of strings"),
        Fault(
            text: "[coders.mp4]\nsignature = \"66\"\ncommand = \"/bin/true\"\nmedia-type = [\"a/b\", \"a/c\"]\n",
            message: ":1: coders.mp4.media-type: must be one value"),
        Fault(
            text: "[database]\nurl = [\"postgresql://a/x\", \"postgresql://b/x\"]\n",
            message: ":2: database.url must be one value, not a list"),
        Fault(
            text: "[database]\nurl = { file = \"none\" }\n", message: ":2: database.url: cannot read"),
        Fault(text: "[limits\n", message: ":1: "), Fault(text: "[log]\n\u{0}", message: ":2: "),
    ])
    func `a fault is named with its file and line and refused by every command`(fault: Fault) async throws {
        let outcome = try await config(fault.text, "check")
        #expect(outcome.code == 2)
        let text = outcome.text + outcome.errorText
        #expect(text.contains(directory.file("larder.toml") + fault.message), "\(text)")
        #expect(!text.contains("hush"))
        let work = try await LarderCommand("work", "--drain", environment: ["LARDER_HOME": directory.path]).run()
        #expect(work.code == 2, "\(work.errorText)")
        #expect(work.errorText.contains(fault.message), "\(work.errorText)")
        #expect(try directory.names == ["larder.toml"])
    }

    @Test func `a file without faults is ok, and secrets are not shown`() async throws {
        try directory.write("postgresql://shop:hush@db/larder\n".utf8, to: "url")
        let text = """
            [database]
            url = { file = "url" }
            [origins."img.example.com"]
            rate = 0.5
            connections = 2
            [credentials.cdn]
            origins = ["https://img.example.com"]
            headers = { Authorization = { env = "TOKEN" } }
            [coders.mp4]
            signature = ["6674797069736f6d@4", "667479706d703432@4"]
            command = ["/bin/cat", "-"]
            """
        let environment = ["TOKEN": "Bearer hush"]
        let check = try await config(text, "check", environment: environment)
        #expect(check.code == 0, "\(check.text)")
        #expect(check.text == "ok: \(directory.file("larder.toml"))\n", "\(check.text)")
        let outcome = try await config(text, "show", "--json", environment: environment)
        #expect(!outcome.text.contains("hush"))
        let settings = try shown(outcome)
        #expect(settings["database.url"]?["value"] as? String == "postgresql://shop:***@db/larder")
        #expect(settings["origins.\"img.example.com\".rate"]?["value"] as? String == "0.5")
        #expect(settings["credentials.cdn"]?["value"] as? String == "(hidden)")
        #expect(settings["coders.mp4"]?["value"] as? String == "/bin/cat -")
        let other = try await config(
            text, "show", "--json", environment: ["TOKEN": "t", "DATABASE_URL": "postgresql://other/larder"])
        #expect(try shown(other)["database.url"]?["source"] as? String == "DATABASE_URL")
        let inQuery = try await config(
            "", "show", "--json", environment: ["DATABASE_URL": "postgresql://db/x?password=hush&sslpassword=hush"])
        #expect(inQuery.code == 0, "\(inQuery.text)")
        #expect(!inQuery.text.contains("hush"), "\(inQuery.text)")
    }

    @Test(arguments: [
        ("cache", "dir", "", "cache.dir is empty"), ("cache", "naming", "x", "'x' is not one of sdwebimage"),
        ("database", "url", "larder", "the database URL is neither"),
        ("database", "url", "mysql://db/larder", "libpq cannot read the database URL"),
        ("webhooks", "secret-file", "/none", "cannot read /none"),
        ("telemetry", "otlp-endpoint", "ftp://collector", "telemetry.otlp-endpoint"),
    ])
    func `check finds what a worker would refuse`(_ section: String, _ key: String, _ value: String, _ fault: String)
        async throws
    {
        let check = try await config("[\(section)]\n\(key) = \"\(value)\"\n", "check")
        #expect(check.code == 2, "\(check.text)\(check.errorText)")
        #expect(check.text.contains(fault), "\(check.text)\(check.errorText)")
    }

    @Test func `check finds a coder without its program`() async throws {
        let text = "[coders.mp4]\nsignature = \"66\"\ncommand = \"/usr/bin/none\"\n"
        let check = try await config(text, "check")
        #expect(check.code == 2)
        #expect(check.text.contains("coders.mp4.command: there is no program /usr/bin/none"), "\(check.text)")
    }

    @Test func `a worker takes its settings from the file and new secrets at SIGHUP`() async throws {
        let scene = try await Scene()
        let files = scene.directory
        try files.write("Bearer old\n".utf8, to: "token")
        let text = """
            [cache]
            dir = "\(files.file("other"))"
            [credentials.cdn]
            origins = ["\(scene.origin.url(""))"]
            headers = { Authorization = { file = "token" } }
            """
        try files.write(text.utf8, to: "larder.toml")
        func enqueue(_ name: String) async throws {
            var request = EnqueueRequest(urls: [try scene.serve("plain.jpg", at: "/\(name).jpg")], batch: "b")
            request.context = #"{"credentials": "cdn"}"#
            _ = try await scene.queue.producer.enqueue(request)
        }
        @Sendable func finished(_ count: Int) -> Bool { scene.holds("(SELECT count(*) FROM larder.record) = \(count)") }

        var command = scene.larder(["work", "--config", files.file("larder.toml")])
        command.environment["LARDER_CACHE"] = nil
        try await enqueue("first")
        let worker = try command.start()
        #expect(await worker.reaches { _ in finished(1) }, "\(String(decoding: worker.errorsSoFar, as: UTF8.self))")
        try files.write("Bearer new\n".utf8, to: "token")
        try files.write((text + "\n[limits]\nslots = 5\n[log]\nlevel = \"debug\"\n").utf8, to: "larder.toml")
        worker.signal(SIGHUP)
        #expect(
            await worker.reaches {
                String(decoding: $0.errorsSoFar, as: UTF8.self).contains(
                    "configuration read again, 1 credential profile; a restart applies limits.slots")
            })
        try await enqueue("second")
        #expect(await worker.reaches { _ in finished(2) })
        #expect(await worker.reaches { String(decoding: $0.errorsSoFar, as: UTF8.self).contains("event=claimed") })
        try files.write("[limits]\nslot = 5\n".utf8, to: "larder.toml")
        worker.signal(SIGHUP)
        #expect(
            await worker.reaches {
                String(decoding: $0.errorsSoFar, as: UTF8.self).contains("configuration not read again: ")
            })
        worker.signal(SIGTERM)
        #expect(await worker.outcome().code == 0)
        #expect(scene.origin.requests.map { $0.headers["authorization"] } == ["Bearer old", "Bearer new"])
        #expect(FileManager.default.fileExists(atPath: files.file("other/default")))
    }

    @Test func `every setting has a section, and the documentation lists each with its default`() throws {
        let path = PackageRoot.path + "/docs/settings.md"
        let page = try String(contentsOfFile: path, encoding: .utf8)
        var table = ""
        for setting in SettingTable.larder.all {
            let text = setting.option.defaultText.map { "`\($0)`" } ?? ""
            table += "| `\(setting.name)` | \(text) | \(setting.option.help.replacing("|", with: "\\|")) |\n"
        }
        #expect(page.contains(table), "the table should be:\n\(table)")
        #expect(Set(SettingTable.larder.all.map(\.name)).count == SettingTable.larder.all.count)
        // The table has every setting of a worker.
        let worker = Set((WorkerSetup.options + ExpiryOptions.work).map(\.name))
        let known = Set(SettingTable.larder.all.map(\.option.name))
        #expect(worker.subtracting(known) == [])
    }

    @Test func `the example file has no fault`() async throws {
        let example = PackageRoot.path + "/deploy/larder.toml"
        let outcome = try await LarderCommand("config", "check", "--config", example).run()
        #expect(outcome.code == 0, "\(outcome.text)")
        // Each commented setting is one, too.
        let text = try String(contentsOfFile: example, encoding: .utf8).replacing(/(?m)^#(?=[\[a-z])/, with: "")
        let file = try ConfigurationFile(
            text: text, of: .larder,
            environment: ["CDN_TOKEN": "Bearer t", "SHOP_DATABASE_URL": "postgresql://db/shop"])
        #expect(file.problems == [])
        #expect(file.values.count > 5)
        #expect(file.hosts.count == 1)
        #expect(file.credentials.count == 1)
        #expect(file.coders.count == 1)
    }
}
