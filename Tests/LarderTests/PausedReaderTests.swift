import Concurrency
import Foundation
import Glibc
import TestSupport
import Testing

/// A command whose output is not read for a while.
@Suite(.timeLimit(.minutes(5)))
struct PausedReaderTests {
    @Test func `run completes while its output is not read and loses no line`()
        async throws
    {
        let scene = try await Scene()
        let urls = try (0..<80).map { try scene.serve("plain.jpg", at: "/\($0).jpg") }
        let pipe = try NarrowPipe()
        let path = try #require(ProcessInfo.processInfo.environment["PATH"])
        let environment = scene.environment.merging(["PATH": path]) { own, _ in own }
        var child = try ChildProcess(
            LarderCommand.executable, ["run", "--json", "--batch", "paused"] + urls,
            environment: environment.map { "\($0.key)=\($0.value)" }, descriptors: [-1, pipe.writeEnd, -1])
        pipe.closeWriteEnd()

        // All jobs are committed before the first byte is read, although the pipe holds a dozen lines.
        try await scene.until(
            "coalesce((SELECT state = 'finished' FROM larder.progress WHERE batch = 'paused'), false)")
        #expect(child.poll() == nil)
        let read = await ThreadPool(name: "reader", threads: 1).run { pipe.rest() }
        let lines = String(decoding: read, as: UTF8.self).split(separator: "\n").map(String.init)
        #expect(Set(try lines.dropLast().map { try JobLine($0).url }) == Set(urls))
        #expect(lines.count == 81)
        #expect(try ReportLine(try #require(lines.last)).succeeded == 80)
        #expect(child.wait() == .exited(0))
    }
}

/// A pipe with a buffer of one page.
private final class NarrowPipe: Sendable {
    let writeEnd: Int32
    private let readEnd: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        readEnd = ends[0]
        writeEnd = ends[1]
        let setPipeSize: Int32 = 1031  // F_SETPIPE_SZ
        try #require(fcntl(writeEnd, setPipeSize, 4096) == 4096)
    }

    deinit { close(readEnd) }

    func closeWriteEnd() { close(writeEnd) }

    /// Reads until the writer ends.
    func rest() -> [UInt8] {
        var all: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(readEnd, &block, block.count)
            if count <= 0 { return all }
            all += block.prefix(count)
        }
    }
}
