import Concurrency
import Foundation
import Glibc
import TestSupport
import Testing

/// The batch of a list that breaks off.
@Suite(.timeLimit(.minutes(5)))
struct InterruptedBatchTests {
    @Test(arguments: ["enqueue", "run"])
    func `a batch without a name is sealed when its list breaks off`(command: String) async throws {
        let scene = try await Scene()
        let outcome = try await BrokenList.command([command, "--json", "--from", "-"], in: scene)
        #expect(outcome.code == .exited(1))
        let batch = try #require(try await scene.sql("SELECT batch_id FROM larder.progress"))
        #expect(try await scene.sql("SELECT sealed_at IS NOT NULL FROM larder.progress") == "t")
        #expect(outcome.error.message.contains("batch \(batch) is closed"), "\(outcome.error.message)")
        #expect(outcome.error.kind == "LarderErrorDomain 2")
    }

    @Test(arguments: ["enqueue", "run"])
    func `a named batch stays open when its list breaks off`(command: String)
        async throws
    {
        let scene = try await Scene()
        let outcome = try await BrokenList.command([command, "--json", "--batch", "spring", "--from", "-"], in: scene)
        #expect(outcome.code == .exited(1))
        #expect(outcome.error.message.contains("batch spring is open"), "\(outcome.error.message)")
        #expect(
            try await scene.sql("SELECT state || ' ' || total FROM larder.progress") == "open \(BrokenList.whole)")
    }
}

/// A list that breaks off with an error after more URLs than one call takes: a terminal that hangs up.
private enum BrokenList {
    /// The URLs of one call.
    static let whole = 10_000

    /// Runs a command with the list as standard input; returns its exit status and its last line.
    static func command(_ words: [String], in scene: Scene) async throws -> (
        code: Concurrency.ExitStatus, error: FailureLine
    ) {
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(terminal) }
        var (lock, number): (Int32, Int32) = (0, -1)
        let (setLock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)  // TIOCSPTLCK, TIOCGPTN
        try #require(ioctl(terminal, setLock, &lock) == 0 && ioctl(terminal, getNumber, &number) == 0)
        let writer = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(writer >= 0)
        let list = (0...whole).map { "http://a.example/\($0).jpg\n" }.joined()
        Thread.detachNewThread {
            // Closes the terminal at the end; the reader then gets an error.
            try? FileHandle(fileDescriptor: writer, closeOnDealloc: true).write(contentsOf: Data(list.utf8))
        }
        let output = Pipe()
        let path = try #require(ProcessInfo.processInfo.environment["PATH"])
        let environment = scene.environment.merging(["PATH": path]) { own, _ in own }
        var child = try ChildProcess(
            LarderCommand.executable, words, environment: environment.map { "\($0.key)=\($0.value)" },
            descriptors: [terminal, output.fileHandleForWriting.fileDescriptor, -1])
        try output.fileHandleForWriting.close()
        let text = await ThreadPool(name: "reader", threads: 1).run {
            String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        }
        let last = try #require(text.split(separator: "\n").last.map(String.init), "\(text.count)")
        return (child.wait(), try JSONDecoder().decode(ErrorLine.self, from: Data(last.utf8)).error)
    }
}
