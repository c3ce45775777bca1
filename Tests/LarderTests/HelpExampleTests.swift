import Testing

@testable import CommandLine
@testable import Commands
@testable import Lab

struct HelpExampleTests {
    /// The words of a command line; single quotes keep spaces.
    private func words(_ line: String) -> [[UInt8]] {
        var words: [[UInt8]] = [[]]
        var isQuoted = false
        for byte in line.utf8 {
            switch byte {
            case UInt8(ascii: "'"): isQuoted.toggle()
            case UInt8(ascii: " ") where !isQuoted: words.append([])
            default: words[words.count - 1].append(byte)
            }
        }
        return words
    }

    @Test(arguments: [CommandTable.larder, .lab])
    func `every command has examples that the option parser accepts`(table: CommandTable) throws {
        for command in table.all {
            #expect(!command.examples.isEmpty)
            try expectAccepted(command, in: table)
        }
    }

    private func expectAccepted(_ command: Command, in table: CommandTable) throws {
        for example in command.examples where example.hasPrefix(table.program + " ") {
            let (found, rest) = try table.find(words(String(example.dropFirst(table.program.count + 1))))
            #expect(found.name == command.name, "\(example)")
            _ = try Arguments(rest, options: found.options + CommandTable.commonOptions, environment: [:])
        }
    }
}
