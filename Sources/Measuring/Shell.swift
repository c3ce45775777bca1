import Foundation

/// Runs programs with the shell.
package enum Shell {
    /// The standard output of `command`.
    ///
    /// - Throws: `MeasuringError` when it fails.
    package static func output(_ command: String) throws -> String {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", command]
        process.standardOutput = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw MeasuringError("'\(command.prefix(80))' failed") }
        return String(decoding: output, as: UTF8.self)
    }
}
