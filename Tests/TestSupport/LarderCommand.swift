import Concurrency
import Foundation

/// The built `larder`, run as a user would run it.
public struct LarderCommand: Sendable {
    /// The program.
    public var program = executable
    /// What follows the command's name.
    public var arguments: [String]
    /// What it has besides PATH, HOME, TMPDIR and the sanitizers' options: nothing else of this process' environment.
    public var environment: [String: String]
    /// What it reads from standard input.
    public var input: [UInt8]
    /// How long it may take until it is killed; only a failing test takes that long. 280 s by default.
    public var limit: Duration

    /// A command; nothing runs yet.
    public init(
        _ arguments: String..., environment: [String: String] = [:], input: some Sequence<UInt8> = [],
        limit: Duration = .seconds(280)
    ) {
        self.arguments = arguments
        self.environment = environment
        self.input = Array(input)
        self.limit = limit
    }

    /// Runs it to its end.
    public func run() async throws -> CommandOutcome { try await start().outcome() }

    /// Starts it in the background.
    public func start() throws -> RunningCommand {
        try RunningCommand(
            program, arguments, environment: Self.inherited.merging(environment) { _, own in own },
            input: input, limit: limit)
    }

    /// The executable of `larder-lab`, in the same directory.
    public static let lab = executable + "-lab"

    /// A command of `larder-lab`; nothing runs yet.
    public static func lab(
        _ arguments: [String], environment: [String: String] = [:], limit: Duration = .seconds(280)
    ) -> LarderCommand {
        var command = LarderCommand(environment: environment, limit: limit)
        command.program = lab
        command.arguments = arguments
        return command
    }

    /// The environment as `NAME=value` that every command gets.
    static let inherited = ProcessInfo.processInfo.environment.filter { name, _ in
        ["PATH", "HOME", "TMPDIR", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"].contains(name)
    }

    /// The executable built together with these tests: it lies next to the test bundle.
    public static let executable: String = {
        var candidates: [String] = []
        let arguments = CommandLine.arguments
        let bundles = zip(arguments, arguments.dropFirst()).filter { $0.0 == "--test-bundle-path" }.map(\.1)
        for start in ["/proc/self/exe"] + bundles {
            var directory = URL(filePath: start).resolvingSymlinksInPath().deletingLastPathComponent()
            while directory.path != "/" {
                candidates.append(directory.appending(path: "larder").path)
                directory.deleteLastPathComponent()
            }
        }
        candidates.append("\(PackageRoot.path)/.build/debug/larder")
        var isDirectory: ObjCBool = false
        return candidates.first {
            FileManager.default.fileExists(atPath: $0, isDirectory: &isDirectory) && !isDirectory.boolValue
                && FileManager.default.isExecutableFile(atPath: $0)
        } ?? "larder"
    }()
}

/// The exit code and the output of a command.
public struct CommandOutcome: Sendable {
    /// Its exit code; nil when a signal ended it.
    public let code: Int32?
    /// The signal that ended it.
    public let signal: Int32?
    /// It had to be killed at its time limit.
    public let ranOutOfTime: Bool
    /// What it wrote to standard output.
    public let output: [UInt8]
    /// What it wrote to standard error.
    public let errors: [UInt8]

    /// Standard output as text.
    public var text: String { String(decoding: output, as: UTF8.self) }
    /// Standard error as text.
    public var errorText: String { String(decoding: errors, as: UTF8.self) }
    /// The lines of standard output, without empty ones.
    public var lines: [String] { text.split(whereSeparator: \.isNewline).map(String.init) }
}
