import Foundation

/// Other programs, by the shell.
enum Shell {
    /// What `command` prints; its complaints go where ours go.
    ///
    /// - Throws: `BenchmarkError` when it fails.
    static func output(_ command: String) throws -> String {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", command]
        process.standardOutput = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw BenchmarkError("'\(command.prefix(80))' failed") }
        return String(decoding: output, as: UTF8.self)
    }
}
