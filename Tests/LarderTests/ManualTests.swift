import Foundation
import TestSupport
import Testing

@testable import CommandLine
@testable import Commands

/// Man pages and completions, which `larder manual` makes from the table of commands.
@Suite(.timeLimit(.minutes(5)))
struct ManualTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func `mandoc accepts the page of each command, and it has all options`() async throws {
        #expect(try await LarderCommand("manual", directory.path).run().code == 0)
        let names = try directory.names
        #expect(names.count == CommandTable.larder.all.count + 1)
        // Only warnings and errors: as a matter of style mandoc also looks for the other pages among the installed ones.
        try await SystemTool.run(["mandoc", "-T", "lint", "-W", "warning"] + names.map(directory.file))
        for command in CommandTable.larder.all {
            let page = directory.file("larder-\(command.words.joined(separator: "-")).1")
            let text = try await SystemTool.run(["mandoc", "-T", "ascii", "-O", "width=200", page])
                .replacing(/.\u{8}/, with: "")
            for option in command.options { #expect(text.contains("--\(option.name)"), "\(command.name)") }
            for example in command.examples { #expect(text.contains(example), "\(command.name): \(text)") }
        }
    }

    @Test func `the reference of the commands is what the table says`() async throws {
        let script = PackageRoot.path + "/scripts/cli-reference"
        let made = try await SystemTool.run(["python3", script, LarderCommand.executable])
        let kept = try String(contentsOfFile: PackageRoot.path + "/docs/cli.md", encoding: .utf8)
        #expect(made == kept, "scripts/cli-reference .build/debug/larder > docs/cli.md")
    }

    @Test func `man pages cannot be written into a directory that is not there`() async throws {
        let outcome = try await LarderCommand("manual", directory.file("none")).run()
        let file = directory.file("none/larder.1")
        #expect(outcome.code == 1)
        #expect(
            outcome.errorText == "larder: cannot write \(file): No such file or directory\n")
    }

    @Test func `a shell without a completion is a wrong usage with the nearest name`() async throws {
        let outcome = try await LarderCommand("manual", "--completion", "zhs").run()
        #expect(outcome.code == 2)
        #expect(outcome.errorText.contains("'zhs' is not one of bash, zsh, fish; did you mean 'zsh'?"))
    }

    @Test(arguments: [
        (["larder", "sta"], ["status"]),
        (["larder", "cache", "tr"], ["trim"]),
        (["larder", "cache", "trim", "--max-a"], ["--max-age"]),
        (["larder", "--json", "blocklist", "re"], ["remove"]),
        (["larder", "help", "blocklist", "re"], ["remove"]),
        (["larder", "report", "spr"], ["spring"]),
        (["larder", "enqueue", "--batch", "spr"], ["spring"]),
        (["larder", "enqueue", "spr"], []),
    ])
    func `bash completes commands, options and names of batches`(words: [String], wanted: [String]) async throws {
        let script = try await LarderCommand("manual", "--completion", "bash").run().text
        let given = words.map { "'\($0)'" }.joined(separator: " ")
        let text = """
            larder() { printf '{"batch":"%s","total":1}\\n' spring autumn spring; }
            \(script)
            COMP_WORDS=(\(given)) COMP_CWORD=\(words.count - 1)
            compopt() { :; }
            _larder
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let answer = try await SystemTool.run(["bash", "-c", text]).split(separator: "\n").map(String.init)
        #expect(answer == wanted)
    }

    @Test func `fish completes commands, options and names of batches`() async throws {
        let script = try await LarderCommand("manual", "--completion", "fish").run().text
        let names = "function larder; for n in 1 2; echo '{\"batch\":\"spring\",\"total\":1}'; end; end\n"
        for (line, wanted) in [
            ("larder sta", "status"), ("larder cache tr", "trim"), ("larder cache trim --max-a", "--max-age"),
            ("larder report spr", "spring"),
        ] {
            // One argument may have 128 KiB, less than the script has.
            let path = directory.file("script.fish")
            try Data("\(names)\(script)\ncomplete -C '\(line)'".utf8).write(to: URL(filePath: path))
            let answer = try await SystemTool.run(["fish", "--no-config", path])
            let words = answer.split(separator: "\n").map { String($0.split(separator: "\t")[0]) }
            #expect(words == [wanted], "\(line)")
        }
    }

    @Test func `zsh accepts its completion`() async throws {
        let path = directory.file("_larder")
        let script = try await LarderCommand("manual", "--completion", "zsh").run().text
        try Data(script.utf8).write(to: URL(filePath: path))
        try await SystemTool.run(["zsh", "--no-exec", path])
        #expect(script.hasPrefix("#compdef larder\n"))
        #expect(script.contains("--max-age"))
    }
}
