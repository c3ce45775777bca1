import Foundation
import Glibc
import Transcoder

/// The program's door: finds the command, runs it, turns what went wrong into one line and an exit code.
@main
struct Larder {
    /// The version, also in the user agent and the worker's row.
    static let version = "0.1.0"

    static func main() async {
        let words = CommandLine.arguments.dropFirst().isEmpty ? [] : Array(rawWords().dropFirst())
        if words.first == Array("transcoder".utf8) {
            // A transcoder child: no database, no network, nothing but the socket it was started with.
            exit(TranscoderProcess.run(socket: 3))
        }
        signal(SIGPIPE, SIG_IGN)
        // A file that grows over the process' limit is an error of that store, not the end of the worker.
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
        // Asked before parsing, because an error of the parser itself must already be told in JSON.
        let json = text.prefix { $0 != "--" }.contains("--json") || Arguments.isSet("LARDER_JSON", in: environment)
        do throws(CommandError) {
            if let page = try HelpPage(asked: text, commands: CommandTable.all) {
                do { try page.show(json: json) } catch { throw CommandError(error) }
                return .done
            }
            let (command, rest) = try CommandTable.find(words)
            let arguments = try Arguments(
                rest, options: command.options + CommandTable.commonOptions, environment: environment)
            if command.operands.isEmpty, let operand = arguments.operandBytes.first {
                throw .usage("\(command.name): '\(String(decoding: operand, as: UTF8.self))': it takes no arguments")
            }
            do {
                return try await command.run(arguments)
            } catch {
                throw CommandError(error)
            }
        } catch {
            Console.report(error, asJSON: json)
            return error.exit
        }
    }

    /// The arguments' bytes as the kernel gave them; Swift's own list repairs what is not UTF-8.
    private static func rawWords() -> [[UInt8]] {
        (0..<Int(CommandLine.argc)).compactMap { index in
            CommandLine.unsafeArgv[index].map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
        }
    }
}
