import Foundation
import Glibc
import TestSupport
import Testing

/// A transcoder ends with its parent process.
@Suite(.timeLimit(.minutes(5)))
struct OrphanTests {
    /// The processes whose parent is `process`.
    private static func children(of process: Int32) -> [Int32] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return tasks.flatMap { task in
            let text = try? String(contentsOfFile: "/proc/\(process)/task/\(task)/children", encoding: .utf8)
            return (text ?? "").split(separator: " ").compactMap { Int32($0) }
        }
    }

    /// State and processor time in hundredths of a second; nil when there is no such process.
    private static func state(of process: Int32) -> (letter: Substring, centiseconds: Int)? {
        let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        guard let fields = text?.split(separator: ")").last?.split(separator: " "), fields.count > 12 else {
            return nil
        }
        return (fields[0], Int(fields[11]) ?? 0)
    }

    @Test func `a transcoder ends when its parent is killed`() async throws {
        let directory = try TemporaryDirectory()
        let blurs = [String](repeating: #"{"type":"blur","radius":50}"#, count: 16).joined(separator: ",")
        let command = try RunningCommand(
            LarderCommand.executable,
            [
                "transform", PackageRoot.path + "/Tests/TranscoderTests/Images/interlaced-large.png", "-o",
                directory.file("out.png"), "--variant",
                #"{"name":"v","thumbnail":{"width":3000,"height":3000},"transform":[\#(blurs)]}"#,
            ], environment: ["LARDER_HOME": directory.file("home")], input: [])
        let isBlurring = await command.reaches { command in
            // More time than starting takes: the child is blurring.
            Self.children(of: command.processID).contains { (Self.state(of: $0)?.centiseconds ?? 0) > 100 }
        }
        #expect(isBlurring)
        let child = try #require(Self.children(of: command.processID).first)
        command.signal(SIGKILL)
        _ = await command.outcome()
        // It stays as a zombie when no process reaps it.
        #expect(await reached { Self.state(of: child).map { $0.letter == "Z" } ?? true })
    }
}
