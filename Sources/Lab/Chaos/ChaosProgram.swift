import Concurrency
import Terminal

/// A program that a run waits for.
enum ChaosProgram {
    static func status(_ program: String, _ arguments: [String]) async throws -> ExitStatus {
        let thread = ThreadPool(name: "chaos-program", threads: 1)
        return try await thread.run { () throws(any Error) in
            var child = try ChildProcess(program, arguments, descriptors: [-1, -1, -1])
            return child.wait()
        }
    }

    static func run(_ program: String, _ arguments: [String]) async throws {
        let status = try await status(program, arguments)
        guard status == .exited(0) else {
            throw CommandError.larder(.other, "'\(program) \(arguments.first ?? "")' ended with \(status)")
        }
    }
}
