import Foundation
import TestSupport
import Testing

@testable import CommandLine
@testable import Commands
@testable import Terminal

/// Wrong usage ends with exit code 2 and a message that names the mistake, and changes nothing; in this process.
@Suite(.timeLimit(.minutes(5)))
struct UsageTests {
    /// A wrong command line and the words that its error must contain.
    struct Wrong: Sendable, CustomTestStringConvertible {
        let words: [String]
        let named: [String]
        var code = 1

        var testDescription: String { words.joined(separator: " ") }

        init(_ words: String, _ named: String...) {
            self.words = words.split(separator: " ").map(String.init)
            self.named = named
        }

        /// A command line with words that are empty.
        init(words: [String], _ named: String...) {
            self.words = words
            self.named = named
        }

        /// A refused variant.
        init(variant: String, _ named: String...) {
            words = ["enqueue", "http://a.example/1.jpg", "--variant", variant]
            self.named = named
            code = 4
        }

        init(context: String, _ named: String...) {
            words = ["run", "http://a.example/1.jpg", "--context", context]
            self.named = named
            code = 4
        }

        init(variants: [String], _ named: String...) {
            words = ["run", "http://a.example/1.jpg"] + variants.flatMap { ["--variant", $0] }
            self.named = named
            code = 4
        }
    }

    static let commands = [
        Wrong(#"run http://a.example/1.jpg --context {"credentials":"nope"}"#, "--context", "'nope'"),
        Wrong("nonsense", "nonsense"), Wrong("help nonsense", "nonsense"),
        Wrong("--database postgresql:///a pause b", "'--database' precedes the command", "larder COMMAND [OPTION]"),
        Wrong("stauts", "'stauts'", "did you mean 'status'?"), Wrong("cache lst", "did you mean 'cache list'?"),
        Wrong("help enqeue", "did you mean 'enqueue'?"),
        Wrong("enqueue -", "enqueue: '-' is not a URL", "--from -"), Wrong("run http://a.example/ -", "--from -"),
        Wrong("db", "db", "start", "stop", "status", "url"), Wrong("db nonsense", "start"),
        Wrong("run", "run", "--from"), Wrong("enqueue", "enqueue", "--from"), Wrong("run --", "run"),
        Wrong("report", "BATCH"), Wrong("report a b", "BATCH"), Wrong("status a b", "BATCH"), Wrong("key", "KEY"),
        Wrong("sniff", "FILE"), Wrong("transform", "IN"), Wrong("transform a b", "IN"), Wrong("transform a", "-o"),
        Wrong("transform a -o b", "--variant"), Wrong("fetch", "URL"), Wrong("fetch a b", "URL"),
        Wrong("work extra", "work", "extra"), Wrong("migrate extra", "migrate", "extra"),
        Wrong("doctor extra", "doctor", "extra"), Wrong("db start extra", "db start", "extra"),
        Wrong("db stop extra", "db stop", "extra"), Wrong("db status extra", "db status", "extra"),
        Wrong("db start --upgrade extra", "db start", "extra"),
        Wrong("db url extra", "db url", "extra"),
        Wrong("cancel", "BATCH", "--job"), Wrong("cancel a b", "BATCH"), Wrong("cancel a --job 1", "'a'", "--job"),
        Wrong("retry", "BATCH", "--job"), Wrong("pause", "BATCH", "--queue", "--origin", "--schedule"),
        Wrong("resume", "BATCH", "--queue"),
        Wrong("pause a --queue b", "'a'", "--queue"), Wrong("check extra", "check", "extra"),
        Wrong("status a --job 1", "'a'", "--job"), Wrong("blocklist", "list", "add", "remove"),
        Wrong("blocklist add", "URL"), Wrong("blocklist remove", "URL"),
        Wrong("blocklist add u --from f", "URLs", "--from"),
        Wrong("blocklist remove u --all", "'u'", "--all"), Wrong("blocklist list extra", "extra"),
        Wrong("blocklist clear extra", "extra"), Wrong("pipeline", "list", "show", "set"),
        Wrong("queue", "set"), Wrong("queue list extra", "--queues", "extra"), Wrong("queue set a b", "NAME"),
        Wrong("queue set", "NAME"), Wrong("origin set", "URL"), Wrong("origin set u", "--max-running", "none"),
        Wrong("status --from", "--from"), Wrong("status --queues --origins", "--queues", "--origins"),
        Wrong("status --queues --job 1", "--queues", "--job"), Wrong("status --warnings", "--warnings", "--health"),
        Wrong("status --health --textfile f", "--textfile", "--metrics"),
        Wrong("metrics --json", "--metrics", "--json"),
        Wrong("prioritize", "BATCH", "--job"), Wrong("prioritize --job 1", "--job", "--at"),
        Wrong("prioritize --job 1 a 2", "BATCH"), Wrong("prioritize a 1 --at +1m", "--at", "--job"),
        Wrong("pause --queue a --origin b", "--queue", "--origin"), Wrong("pause a --for 1h", "--for", "--origin"),
        Wrong("enqueue u --schedule s", "--schedule", "URLs"), Wrong("enqueue --schedule s --batch b", "--batch"),
        Wrong("cache verify --share --remove", "--share", "--remove"), Wrong("cache export --as zip", "--as", "'zip'"),
        Wrong("manual a --completion bash", "'a'", "--completion"), Wrong("discard --delete", "BATCH"),
        Wrong("cancel a --dry-run", "--dry-run", "--origin"), Wrong("cancel a --url b", "BATCH", "--url"),
        Wrong("retry --job 1 --url b", "--job", "--url"),
        Wrong("pipeline show", "NAME"), Wrong("pipeline show a b", "NAME"), Wrong("pipeline set", "NAME"),
        Wrong("pipeline set a", "--variant", "--from"), Wrong("pipeline list extra", "extra"),
    ]

    static let options = [
        Wrong("work --slot 3", "work: ", "--slot", "did you mean '--slots'?"),
        Wrong("run u --form=x", "run: ", "did you mean '--from'?"),
        Wrong("work --drain=yes", "--drain", "takes no value", "yes"), Wrong("work --drain=", "--drain"),
        Wrong("run u --batch 2026", "--batch", "'2026'", "digits"), Wrong("enqueue u --batch 7", "--batch", "'7'"),
        Wrong("status b --health", "--health"),
        Wrong("work --grace 5q", "'5q'", "500ms", "30 for seconds"), Wrong("blocklist add nonsense", "nonsense", "URL"),
        Wrong("run u --priority 10", "--priority", "10", "0 to 9"),
        Wrong("enqueue u --priority high", "--priority", "high"),
        Wrong("enqueue u --at yesterday", "--at", "yesterday"), Wrong("enqueue u --at +soon", "--at", "+soon"),
        Wrong("run u --options Nonsense", "--options", "Nonsense"), Wrong("run u --options -1", "--options", "-1"),
        Wrong("run u --options RetryFailed,refreshCached", "refreshCached"),
        Wrong("transform a -o b --variant {} --options x", "--options"),
        Wrong("run u --retries -1", "--retries", "-1"), Wrong("run u --retries many", "--retries", "many"),
        Wrong("run u --retry-base -1s", "--retry-base", "-1s"), Wrong("run u --batch=", "--batch"),
        Wrong("run u --max-runtime soon", "--max-runtime", "soon"),
        Wrong("queue set q --max-running 0", "--max-running", "'0'"),
        Wrong("queue set q --max-running=-1", "--max-running", "'-1'"),
        Wrong("queue set q --max-rate 0", "--max-rate", "'0'"),
        Wrong("queue set q --max-rate nan", "--max-rate", "'nan'"),
        Wrong("origin set u --max-rate 0", "--max-rate", "'0'"),
        Wrong("origin set u --max-running 0", "--max-running"),
        Wrong("queue set q --keep-history 59m", "--keep-history", "'59m'", "1h"),
        Wrong("queue set q --job-timeout 31d", "--job-timeout", "30d"),
        Wrong("queue set q --order up", "--order", "oldest"),
        Wrong("queue set q --low-priority-every 1001", "--low-priority-every"), Wrong("prioritize --job a 1", "'a'"),
        Wrong("prioritize --job 1 10", "'10'", "0 to 9"), Wrong("prioritize --job 1 --at soon", "--at", "'soon'"),
        Wrong("cancel --origin nonsense", "--origin", "'nonsense'"), Wrong("cancel --older-than 9999d", "--older-than"),
        Wrong("cancel --error 2001", "--error", "'2001'"), Wrong("retry --older-than x", "--older-than", "'x'"),
        Wrong("enqueue u --not-after soon", "--not-after", "'soon'"),
        Wrong("enqueue u --on-running never", "--on-running", "'never'", "join", "again"),
        Wrong("enqueue u --traceparent 00-1-2-01", "--traceparent", "'00-1-2-01'", "00-4bf92f"),
        Wrong("run u --log-format xml", "--log-format", "xml"),
        Wrong("work --log-format xml", "--log-format", "xml"), Wrong("work --slots 0", "--slots", "0"),
        Wrong("work --soft-time 10s --hard-time 5s", "--soft-time", "--hard-time", "5s"),
        Wrong("work --transcoders 0", "--transcoders"), Wrong("work --grace x", "--grace", "x"),
        Wrong("work --max-runtime x", "--max-runtime"), Wrong("work --durability some", "--durability", "some"),
        Wrong("work --allow-address 10.0.0.0/33", "--allow-address", "10.0.0.0/33"),
        Wrong("run u --allow-address localhost", "--allow-address", "localhost"),
        Wrong("fetch http://a.example/ --allow-address 1.2.3/8", "--allow-address", "1.2.3/8"),
        Wrong("run u --allow-port 0", "--allow-port", "0"), Wrong("work --allow-port 65536", "--allow-port", "65536"),
        Wrong("run u --max-body 12x", "--max-body", "12x"), Wrong("work --max-body -1", "--max-body", "-1"),
        Wrong("fetch http://a.example/ --max-body many", "--max-body", "many"),
        Wrong("work --idle-timeout x", "--idle-timeout"), Wrong("work --max-redirects x", "--max-redirects"),
        Wrong("work --max-pixels 0", "--max-pixels"), Wrong("work --max-memory x", "--max-memory"),
        Wrong("fetch http://a.example/ --retries x", "--retries"), Wrong("report b --format xml", "--format", "xml"),
        Wrong("status b --watch --interval x", "--interval", "x"), Wrong("enqueue u --from", "--from"),
        Wrong("cancel --job x", "--job", "'x'"), Wrong("retry --job 0", "--job", "'0'"),
        Wrong("status --job -3", "--job", "'-3'"),
        Wrong("status --database postgresql://a/x --database postgresql://b/x", "--database", "uses one database"),
        Wrong("blocklist add u --for never", "--for", "never"),
        Wrong("blocklist add u --for 0", "--for"), Wrong("blocklist add --from u --for x", "--for", "'x'"),
        Wrong("pipeline set p --from f --variant {\"name\":\"v\",\"keySuffix\":\"k\"}", "--from", "--variant"),
        Wrong("run u --pipeline p --variant {\"name\":\"v\",\"keySuffix\":\"k\"}", "--pipeline", "--variant"),
    ]

    /// What a script passes for a variable that is not set.
    static let empty = [
        Wrong("cache clear --yes --cache=", "cache remove: ", "--cache", "empty"),
        Wrong("cache trim --cache=", "--cache", "empty"),
        Wrong("enqueue --from=", "--from", "empty"), Wrong("run u --from l --from=", "--from", "empty"),
        Wrong("transform a --variant v --output=", "--output", "empty"),
        Wrong("fetch http://a.example/ --output=", "--output", "empty"),
        Wrong("cache export --batch b --output=", "--output", "empty"),
        Wrong("report b --output=", "--output", "empty"),
        Wrong("metrics --textfile=", "--textfile", "empty"), Wrong("status --database=", "--database", "empty"),
        Wrong("pause --queue=", "--queue", "empty"), Wrong("cache export --batch=", "--batch", "empty"),
        Wrong(words: ["work", "--cache", ""], "--cache", "empty"),
        Wrong(words: ["cache", "clear", "--namespace", ""], "--namespace", "empty"),
        Wrong(words: ["resume", "--origin", ""], "--origin: the value is empty"),
        Wrong(words: ["blocklist", "add", "http://a.example/", ""], "an argument is empty"),
        Wrong(words: ["enqueue", ""], "enqueue: the URL is empty"),
        Wrong(words: ["report", ""], "BATCH"), Wrong(words: ["pause", ""], "BATCH"),
    ]

    static let variants = [
        Wrong(context: "{", "--context", "JSON", "line 1, column 2"),
        Wrong(context: #"{"imageTransfomer":[]}"#, "--context", "$.imageTransfomer", "not a known field"),
        Wrong(variant: "{", "--variant", "$", "JSON", "line 1, column 2"),
        Wrong(variant: #"{"name" "v"}"#, "--variant", "line 1, column 9"),
        Wrong(variant: "{\"name\":\"v\",\n \"format\":jpeg}", "--variant", "line 2, column 11"),
        Wrong(variant: "[]", "$", "object"),
        Wrong(variant: "{}", "$.name", "missing"), Wrong(variant: #"{"name":""}"#, "$.name"),
        Wrong(variant: #"{"name":7}"#, "$.name", "string"),
        Wrong(variant: #"{"name":"v","colour":"red"}"#, "$.colour", "not a known field"),
        Wrong(variant: #"{"name":"v","thumbnail":{"width":10}}"#, "$.thumbnail.height", "missing"),
        Wrong(variant: #"{"name":"v","thumbnail":{"width":10,"height":-1}}"#, "$.thumbnail.height"),
        Wrong(variant: #"{"name":"v","transform":[{"type":"resize","width":10,"height":0}]}"#, "$.transform[0].height"),
        Wrong(
            variant: #"{"name":"v","transform":[{"type":"resize","width":1,"height":1,"scaleMode":"x"}]}"#,
            "$.transform[0].scaleMode"),
        Wrong(
            variant: #"{"name":"v","transform":[{"type":"melt"}]}"#, "$.transform[0].type", "not a known transformer"),
        Wrong(variant: #"{"name":"v","format":"bmp"}"#, "$.format"),
        Wrong(variant: #"{"name":"v","quality":101}"#, "$.quality", "100"),
        Wrong(variant: #"{"name":"v","maxBytes":0,"keySuffix":"k"}"#, "$.maxBytes"),
        Wrong(variant: ##"{"name":"v","background":"#fff","keySuffix":"k"}"##, "$.background"),
        Wrong(variant: #"{"name":"v"}"#, "--variant: $.variants[0]", "v", "original's cache key"),
        Wrong(variant: #"{"name":"v","format":"webp"}"#, "original's cache key"),
        Wrong(
            variants: [Variants.small, Variants.small.replacing(#""small""#, with: #""other""#)], "$.variants[1]",
            "other",
            "small", "same cache key"),
        Wrong(
            variants: [Variants.small, Variants.thumb.replacing("thumb\",", with: "small\",")], "$.variants[1].name",
            "small"),
        Wrong(variants: [Variants.small, #"{"name":"v","nonsense":1}"#], "number 2", "$.nonsense"),
    ]

    private func expectRefused(_ wrong: Wrong) async throws {
        let directory = try TemporaryDirectory(open: true)
        // Wrong usage is an error before a command connects to this unreachable database.
        let environment = [
            "LARDER_HOME": directory.file("home"),
            "LARDER_DATABASE_URL": "postgresql:///larder?host=\(directory.file("nobody"))",
        ]
        let error = await #expect(throws: CommandError.self) {
            try await Program.larder.perform(wrong.words.map { Array($0.utf8) }, environment: environment)
        }
        #expect(error?.exit == .wrongUsage)
        #expect(error?.domain == "LarderErrorDomain")
        #expect(error?.code == wrong.code)
        let message = error?.message ?? ""
        for name in wrong.named { #expect(message.contains(name), "\(message)") }
        #expect(try directory.names == [], "nothing was made")
    }

    @Test(arguments: commands) func `wrong commands and operands are refused`(wrong: Wrong) async throws {
        try await expectRefused(wrong)
    }

    @Test(arguments: options) func `wrong option values are refused`(wrong: Wrong) async throws {
        try await expectRefused(wrong)
    }

    @Test(arguments: empty) func `empty values and operands are refused`(wrong: Wrong) async throws {
        try await expectRefused(wrong)
    }

    @Test(arguments: variants) func `wrong variants are refused with their JSON path`(wrong: Wrong) async throws {
        try await expectRefused(wrong)
    }

    /// What a command line that asks for help prints.
    private func help(_ words: [String], json: Bool = false) throws -> String {
        try #require(try HelpPage(for: words, of: .larder), "\(words)").text(json: json, width: 80)
    }

    @Test(arguments: CommandTable.larder.all.map(\.words))
    func `every command has a help page and refuses unknown options`(words: [String]) async throws {
        let page = try help(["help"] + words)
        #expect(page.hasPrefix("usage: larder \(words.joined(separator: " "))"))
        #expect(page.contains("--json"))
        #expect(try help(words + ["--help"]) == page)
        try await expectRefused(Wrong((words + ["--nonsense"]).joined(separator: " "), "--nonsense"))
    }

    @Test(arguments: [[], ["help"], ["--help"], ["-h"], ["help", "--all"], ["--help-all"]])
    func `larder without arguments and with help prints the overview of commands`(words: [String]) throws {
        let page = try help(words)
        #expect(page.contains("usage: larder COMMAND"))
        #expect(page.contains("exit codes:"))
        let listed = page.split(separator: "\n").filter { $0.hasPrefix("  ") }.map { line in
            line.dropFirst(2).prefix { !$0.isUppercase }.trimmingCharacters(in: .whitespaces)
        }
        let isWhole = !words.filter { $0.hasSuffix("all") }.isEmpty
        for name in isWhole ? CommandTable.larder.all.map(\.name) : CommandTable.larder.usualCommands {
            #expect(listed.contains(name), "\(name)")
        }
    }

    @Test func `help and version print JSON with --json`() throws {
        for words in [["--version", "--json"], ["version", "--json"], ["--json", "--version"]] {
            let version = try fields(help(words, json: true))["version"] as? String
            #expect(version?.wholeMatch(of: /\d+\.\d+\.\d+/) != nil)
        }
        let all = try help(["help", "--json"], json: true).split(separator: "\n").map { try fields(String($0)) }
        #expect(all.map { $0["command"] as? String } == CommandTable.larder.all.map(\.name))
        let start = try help(["help", "db", "stop", "--json"], json: true)
        #expect(try fields(start)["usage"] as? String == "larder db stop")
        let page = try fields(help(["run", "--help", "--json"], json: true))
        let options = try #require(page["options"] as? [[String: Any]])
        let retries = try #require(options.first { $0["name"] as? String == "retries" })
        #expect(retries["variable"] as? String == "LARDER_RETRIES")
        #expect(retries["value"] as? String == "N")
    }

    @Test func `the help of run and enqueue states the default priority and explains durations`() throws {
        let run = try help(["help", "run", "--help-all"])
        let enqueue = try help(["help", "enqueue", "--help-all"])
        #expect(run.contains("0 first to 9 last, default 1\n"))
        #expect(enqueue.contains("0 first to 9 last, default 4\n"))
        // Lines are broken where the page is wide enough.
        for page in [run, enqueue].map({ $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }) {
            #expect(page.contains("DURATION: "))
            #expect(page.contains("without a unit it is seconds"))
        }
    }

    @Test func `version prints one line`() throws {
        #expect(try help(["--version"]).wholeMatch(of: /larder \d+\.\d+\.\d+\n/) != nil)
    }

    @Test func `an argument that is not UTF-8 is named`() async throws {
        let words = [
            Array("key".utf8), Array("--variant".utf8), Array(#"{"name":""#.utf8) + [0xC3, 0x28], Array("a".utf8),
        ]
        let error = await #expect(throws: CommandError.self) {
            try await Program.larder.perform(words, environment: [:])
        }
        #expect(error?.exit == .wrongUsage)
        #expect(error?.message.contains("--variant is not valid UTF-8") == true)
    }
}
