import Testing

@testable import larder

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

    @Test(arguments: CommandTable.all.map(\.name))
    func `every command has examples that the option parser accepts`(name: String) throws {
        let command = try #require(CommandTable.all.first { $0.name == name })
        #expect(!command.examples.isEmpty)
        for example in command.examples where example.hasPrefix("larder ") {
            let (found, rest) = try CommandTable.find(words(String(example.dropFirst(7))))
            #expect(found.name == name, "\(example)")
            _ = try Arguments(rest, options: found.options + CommandTable.commonOptions, environment: [:])
        }
    }
}
