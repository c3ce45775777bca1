import FoundationEssentials
import Glibc
import Transcoder

/// Finds and runs the command; an error becomes one line and an exit code.
@main
struct Larder {
    static let version = "0.1.0"

    static func main() async {
        let words = Array(rawWords().dropFirst())
        if words.first == Array("transcoder".utf8) {
            // A child process of a worker, with a socket to it as descriptor 3.
            exit(TranscoderProcess.run(socket: 3))
        }
        StandardDescriptors.hold()
        signal(SIGPIPE, SIG_IGN)
        // A file over the process's size limit is then an error of its store.
        signal(SIGXFSZ, SIG_IGN)
        Machine.allowOpenFiles()
        let code = await run(words, environment: ProcessInfo.processInfo.environment)
        if let failure = Console.failure {
            Console.report(failure, asJSON: false)
            exit(max(code.rawValue, ExitCode.failed.rawValue))
        }
        exit(code.rawValue)
    }

    static func run(_ words: [[UInt8]], environment: [String: String]) async -> ExitCode {
        let text = words.map { String(decoding: $0, as: UTF8.self) }
        // Read before parsing, because errors of the parser are JSON, too.
        let json = text.prefix { $0 != "--" }.contains("--json") || Arguments.isSet("LARDER_JSON", in: environment)
        do throws(CommandError) {
            if let page = try HelpPage(for: text) {
                do { try page.show(json: json) } catch { throw CommandError(error) }
                return .done
            }
            let (command, rest) = try CommandTable.find(words)
            let isWork = command.words == Command.work.words
            if isWork { EventLog(unparsed: text, environment: environment)?.takeNotes() }
            var arguments: Arguments
            do throws(CommandError) {
                arguments = try Arguments(
                    rest, options: command.options + CommandTable.commonOptions, environment: environment)
            } catch {
                noteMisspelt(environment)
                throw error.of(command)
            }
            if command.operands.isEmpty, let operand = arguments.operandBytes.first {
                throw .usage(
                    "\(command.name): '\(String(decoding: operand, as: UTF8.self))': the command takes no arguments")
            }
            let file = try ConfigurationFile(arguments)
            arguments.file = file
            // An unknown format is an error of the command itself.
            if isWork { try? EventLog(arguments).takeNotes() }
            // It prints what is wrong itself.
            if command.words != Command.configCheck.words {
                try file.check()
                noteMisspelt(environment)
            }
            do {
                return try await command.run(arguments)
            } catch {
                if let remedy = await UnknownName.remedy(error, arguments) {
                    throw CommandError(error).adding(remedy)
                }
                let login = RequiredRole.login((try? Settings(arguments))?.databaseURL)
                guard let remedy = RequiredRole.remedy(error, of: command, login: login) else {
                    throw CommandError(error)
                }
                throw CommandError(error).adding(remedy)
            }
        } catch {
            Console.report(error, asJSON: json)
            return error.exit
        }
    }

    private static func noteMisspelt(_ environment: [String: String]) {
        MisspeltVariables.notes(environment).forEach { Console.note("larder: \($0)") }
    }

    /// The arguments as bytes; Swift's list of arguments replaces invalid UTF-8.
    private static func rawWords() -> [[UInt8]] {
        // Swift finds no argument when a preloaded library has changed the environment, as libfaketime does.
        guard CommandLine.argc > 0 else {
            let line = (try? Data(contentsOf: URL(filePath: "/proc/self/cmdline"))) ?? Data()
            // Each word ends with a zero byte.
            return line.split(separator: 0, omittingEmptySubsequences: false).dropLast().map { Array($0) }
        }
        return (0..<Int(CommandLine.argc)).compactMap { index in
            CommandLine.unsafeArgv[index].map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
        }
    }
}
