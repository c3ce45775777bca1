import Foundation

/// The programs of the system that set a scene.
public enum SystemTool {
    /// What a program said when it failed.
    public struct Failure: Error, CustomStringConvertible {
        let text: String
        /// The command, and what it printed.
        public var description: String { text }
    }

    /// Where a program lies; nil when it is not installed.
    public static func path(of name: String) -> String? {
        ["/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/", "/usr/lib/openssh/"].map { $0 + name }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }

    /// Runs a program to its end, and gives what it printed; it fails unless that ends with 0.
    @discardableResult
    public static func run(_ command: [String]) async throws -> String {
        guard let name = command.first, let program = path(of: name) else {
            throw Failure(text: "\(command.first ?? "") is not installed")
        }
        let outcome = try await RunningCommand(
            program, Array(command.dropFirst()), environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"], input: []
        ).outcome()
        guard outcome.code == 0 else {
            throw Failure(text: "\(command.joined(separator: " ")): \(outcome.text)\(outcome.errorText)")
        }
        return outcome.text
    }
}
