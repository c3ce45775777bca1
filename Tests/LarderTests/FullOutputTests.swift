import Concurrency
import Foundation
import TestSupport
import Testing

/// Output that cannot be written.
@Suite(.timeLimit(.minutes(5)))
struct FullOutputTests {
    @Test(arguments: [["report", "spring", "--format", "html"], ["status", "--json"], ["help"]])
    func `output to a full device is an error`(words: [String]) async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "--batch", "spring", scene.origin.url("/a.jpg"))
        let full = try FileHandle(forWritingTo: URL(filePath: "/dev/full"))
        let printed = Pipe()
        var environment = scene.environment
        environment["PATH"] = ProcessInfo.processInfo.environment["PATH"]
        var child = try ChildProcess(
            LarderCommand.executable, words, environment: environment.map { "\($0.key)=\($0.value)" },
            descriptors: [-1, full.fileDescriptor, printed.fileHandleForWriting.fileDescriptor])
        try printed.fileHandleForWriting.close()
        let errors = await ThreadPool(name: "reader", threads: 1).run {
            String(decoding: printed.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        }
        #expect(child.wait() == .exited(1))
        #expect(errors.split(separator: "\n").count == 1)
        #expect(errors.contains("standard output"), "\(errors)")
    }
}
