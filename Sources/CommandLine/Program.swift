import FoundationEssentials
import Glibc
package import Terminal

/// Finds and runs a program's commands; an error becomes one line and an exit code.
package struct Program: Sendable {
    package let table: CommandTable
    /// The command that reports faulty settings itself.
    package let settingsCommand: [String]
    /// Called with a command and its words before parsing.
    package let willParse: @Sendable (Command, [String], [String: String]) -> Void
    /// Called with a command and its arguments before it runs.
    package let willRun: @Sendable (Command, Arguments) -> Void
    /// The remedy for a command's error; nil for none.
    package let remedy: @Sendable (any Error, Command, Arguments) async -> String?

    package init(
        _ table: CommandTable, settingsCommand: [String] = [],
        willParse: @escaping @Sendable (Command, [String], [String: String]) -> Void = { _, _, _ in },
        willRun: @escaping @Sendable (Command, Arguments) -> Void = { _, _ in },
        remedy: @escaping @Sendable (any Error, Command, Arguments) async -> String? = { _, _, _ in nil }
    ) {
        self.table = table
        self.settingsCommand = settingsCommand
        self.willParse = willParse
        self.willRun = willRun
        self.remedy = remedy
    }

    /// Runs the command in the process's arguments and ends the process.
    package func main() async -> Never {
        StandardDescriptors.hold()
        Machine.keepNiceness()
        signal(SIGPIPE, SIG_IGN)
        // A file over the process's size limit is then an error of its store.
        signal(SIGXFSZ, SIG_IGN)
        Machine.allowOpenFiles()
        let words = Array(Self.words.dropFirst())
        HiddenPasswords.hide()
        let code = await run(words, environment: ProcessInfo.processInfo.environment)
        if let failure = Console.failure {
            Console.report(failure, asJSON: false, program: table.program)
            exit(max(code.rawValue, ExitCode.failed.rawValue))
        }
        exit(code.rawValue)
    }

    /// Runs the command in `words` and prints its error.
    package func run(_ words: [[UInt8]], environment: [String: String]) async -> ExitCode {
        // Read before parsing, for the parser's errors.
        let isVerbose = Self.isVerbose(words.map { String(decoding: $0, as: UTF8.self) }, environment)
        Console.showsCodes = isVerbose
        do throws(CommandError) {
            return try await perform(words, environment: environment)
        } catch {
            let isJSON = Self.wantsJSON(words.map { String(decoding: $0, as: UTF8.self) }, environment)
            Console.report(error, asJSON: isJSON, program: table.program)
            return error.exit
        }
    }

    /// Runs the command in `words`.
    ///
    /// - Throws: its error, unprinted.
    package func perform(_ words: [[UInt8]], environment: [String: String]) async throws(CommandError) -> ExitCode {
        let text = words.map { String(decoding: $0, as: UTF8.self) }
        if let page = try HelpPage(for: text, of: table) {
            do { Console.write(try page.text(json: Self.wantsJSON(text, environment))) } catch {
                throw CommandError(error)
            }
            return .done
        }
        let (command, rest) = try table.find(words)
        willParse(command, text, environment)
        let arguments = try arguments(rest, of: command, environment)
        willRun(command, arguments)
        if command.words != settingsCommand {
            try arguments.file?.check()
            noteMisspelt(environment)
        }
        do {
            return try await command.run(arguments)
        } catch {
            guard let remedy = await remedy(error, command, arguments) else { throw CommandError(error) }
            throw CommandError(error).adding(remedy)
        }
    }

    /// Whether the words contain `--json`; read before parsing, because the parser's errors are JSON too.
    private static func wantsJSON(_ words: [String], _ environment: [String: String]) -> Bool {
        words.prefix { $0 != "--" }.contains("--json") || Arguments.isSet("LARDER_JSON", in: environment)
    }

    private static func isVerbose(_ words: [String], _ environment: [String: String]) -> Bool {
        words.prefix { $0 != "--" }.contains { ["-v", "--verbose"].contains($0) }
            || Arguments.isSet("LARDER_VERBOSE", in: environment)
    }

    /// The command line's words as bytes; Swift's argument list replaces invalid UTF-8.
    package static var words: [[UInt8]] {
        // Swift finds no argument if a preloaded library has changed the environment, as libfaketime does.
        guard Swift.CommandLine.argc > 0 else {
            let line = (try? Data(contentsOf: URL(filePath: "/proc/self/cmdline"))) ?? Data()
            // Each word ends with a zero byte.
            return line.split(separator: 0, omittingEmptySubsequences: false).dropLast().map { Array($0) }
        }
        return (0..<Int(Swift.CommandLine.argc)).compactMap { index in
            Swift.CommandLine.unsafeArgv[index].map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
        }
    }

    private func arguments(
        _ words: [[UInt8]], of command: Command, _ environment: [String: String]
    ) throws(CommandError) -> Arguments {
        var arguments: Arguments
        do throws(CommandError) {
            arguments = try Arguments(
                words, options: command.options + CommandTable.commonOptions, environment: environment)
        } catch {
            noteMisspelt(environment)
            throw error.of(command.name)
        }
        if command.operands.isEmpty, let operand = arguments.operandBytes.first {
            throw .usage(
                "\(command.name): '\(String(decoding: operand, as: UTF8.self))': the command takes no arguments")
        }
        arguments.file = try ConfigurationFile(arguments, of: table.settings)
        return arguments
    }

    private func noteMisspelt(_ environment: [String: String]) {
        MisspeltVariables.notes(environment, of: table).forEach { Console.note("\(table.program): \($0)") }
    }
}

/// Descriptors 0, 1 and 2 of a program started without them.
package enum StandardDescriptors {
    /// Opens a device for each closed one, so that results are not written into another file with its number. Reading
    /// and writing still fail, because the device is open for the other direction. Call it before opening any file.
    package static func hold() {
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(number, F_GETFD) < 0 {
            // Gets the lowest free number, which is this one.
            _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
