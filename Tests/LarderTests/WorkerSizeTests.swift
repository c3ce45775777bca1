import Foundation
import TestSupport
import Testing
import Transcoder

@testable import Commands

/// The size of a worker by default, by the limits of its container.
@Suite(.timeLimit(.minutes(5)))
struct WorkerSizeTests {
    private func size(_ cores: Int, _ memory: Int, _ group: ControlGroup = ControlGroup()) -> [Int] {
        let size = WorkerSize(cores: cores, memory: memory, group: group)
        return [size.transcoders, size.slots, size.imageBytes >> 20]
    }

    @Test func `a machine without limits has a transcoder a core, 32 slots and 1 GiB an image`() {
        #expect(size(2, 4 << 30) == [2, 32, 1024])
        #expect(size(16, 64 << 30) == [16, 32, 1024])
    }

    @Test func `a quota of processors is rounded up`() {
        #expect(size(16, 64 << 30, ControlGroup(processors: 0.5))[0] == 1)
        #expect(size(16, 64 << 30, ControlGroup(processors: 2.1))[0] == 3)
        #expect(size(2, 64 << 30, ControlGroup(processors: 8))[0] == 2)
    }

    @Test func `little memory means fewer transcoders and slots, and smaller images`() {
        #expect(size(8, 1 << 30) == [3, 32, 768])
        #expect(size(8, 512 << 20) == [1, 32, 384])
        #expect(size(8, 128 << 20) == [1, 16, 96])
        #expect(size(8, 16 << 20) == [1, 4, 12])
    }

    @Test func `few processes and threads mean fewer transcoders, and at least one`() {
        #expect(size(16, 64 << 30, ControlGroup(tasks: 100))[0] == 4)
        #expect(size(16, 64 << 30, ControlGroup(tasks: 20))[0] == 1)
    }

    @Test func `doctor says what was found and what a worker does with it, or with options`() async throws {
        let scene = try await Scene()
        let line = try #require(
            try await scene.larder("doctor", "--transcoders", "3", "--max-memory", "100MiB").text
                .split(separator: "\n").first { $0.hasPrefix("ok   machine: ") })
        #expect(line.contains("; control group: "), "\(line)")
        #expect(line.hasSuffix("; a worker has 3 transcoders, \(WorkerSize.here.slots) slots, 100.0 MiB for an image"))
    }
}
