import Concurrency
import Foundation
import Glibc
import ImageModel
import TestSupport
import Testing

@testable import Transcoder

/// Children that die, hang or exceed limits; each fault costs one image.
@Suite(.timeLimit(.minutes(5)))
struct FaultTests {
    private let variant = #""thumbnail":{"width":8,"height":8}"#

    /// A child of `harness` that has served one image and is idle.
    private func idleChild(_ harness: TranscodeHarness) async throws -> Int32 {
        // On a busy machine a child may start more slowly than a short time limit allows; another one is then started.
        var error = try await harness.refusal(try Fixtures.image("plain.jpg"), variant)
        while error?.countsTowardPoison == false {
            error = try await harness.refusal(try Fixtures.image("plain.jpg"), variant)
        }
        #expect(error == nil)
        return try #require(harness.pool.children.first)
    }

    /// Stops a child, sends it an image, and calls `fault` once the child holds it.
    private func holding(
        _ harness: TranscodeHarness, _ fault: @escaping @Sendable (Int32) -> Void = { _ in }, cancelling: Bool = false
    ) async throws -> (child: Int32, error: TranscodeError?) {
        let child = try await idleChild(harness)
        kill(child, SIGSTOP)
        let image = try Fixtures.image("plain.jpg"), variant = variant
        // On a busy machine a request with a short limit may end before the child is seen working.
        let ended = Flag()
        let error = try await withThrowingTaskGroup(of: TranscodeError?.self) { group in
            group.addTask {
                defer { ended.set() }
                return try await harness.refusal(image, variant)
            }
            _ = await reached { harness.pool.workingCount > 0 || ended.isSet }
            fault(child)
            if cancelling { group.cancelAll() }
            return try await group.next() ?? nil
        }
        return (child, error)
    }

    @Test func `a killed child costs only the image that it held`() async throws {
        let harness = TranscodeHarness()
        let (child, error) = try await holding(harness, { kill($0, SIGKILL) })
        #expect(error?.code == .died)
        #expect(error?.signal == SIGKILL)
        #expect(kill(child, 0) == -1, "it is reaped")
        let output = try await harness.make(try Fixtures.image("plain.jpg"), variant)
        #expect(try output.made().width == 8)
    }

    @Test func `outputs are opened once a child is free`() async throws {
        let pool = TranscodeHarness().pool
        let file = try ScratchFile(try Fixtures.image("plain.jpg"))
        let source = file.descriptor
        let opened = Locked(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    _ = try await pool.transcode(
                        failure: { $0 },
                        open: { () throws(TranscodeError) in
                            opened.withLock { $0 += 1 }
                            #expect(pool.workingCount == 0)
                            return TranscodeRequest(source: source, variants: [], outputs: [])
                        })
                }
            }
            try await group.waitForAll()
        }
        #expect(opened.withLock { $0 } == 6)
    }

    @Test func `a crash is reported with its signal`() async throws {
        let (_, error) = try await holding(
            TranscodeHarness(),
            { child in
                kill(child, SIGABRT)
                kill(child, SIGCONT)
            })
        #expect(error?.code == .died)
        #expect(error?.signal == SIGABRT)
    }

    @Test func `signals of a terminal and of a service manager do not end a child`() async throws {
        let harness = TranscodeHarness()
        let (child, error) = try await holding(
            harness,
            { child in
                for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGCONT] { kill(child, signal) }
            })
        #expect(error == nil)
        #expect(harness.pool.children == [child])
    }

    @Test func `a child killed while it is idle is replaced without an error`() async throws {
        let harness = TranscodeHarness()
        let child = try await idleChild(harness)
        kill(child, SIGKILL)
        await Self.waitForEnd(child)
        let output = try await harness.make(try Fixtures.image("plain.jpg"), variant)
        #expect(try output.made().width == 8)
        #expect(harness.pool.children.first != child)
    }

    @Test func `a child that hangs is killed at the limit by the clock, and its image is not poison`() async throws {
        let harness = TranscodeHarness { $0.limits.wallTime = .seconds(3) }
        let (child, error) = try await holding(harness)
        #expect(error?.code == .died)
        #expect(error?.countsTowardPoison == false)
        #expect(error?.failure.countsTowardPoison == false)
        #expect(kill(child, 0) == -1, "it is gone and reaped")
        #expect(try await harness.refusal(try Fixtures.image("plain.jpg")) == nil)
    }

    @Test func `no further variant starts after the soft limit`() async throws {
        let harness = TranscodeHarness { $0.limits.softTime = .zero }
        let output = try await harness.make(try Fixtures.image("plain.jpg"), variant)
        guard case .failure(let error) = output.report.variants[0] else {
            Issue.record("the variant was made")
            return
        }
        #expect(error.code == .time)
    }

    @Test func `an image that needs more memory than the limit fails with 205`() async throws {
        let harness = TranscodeHarness { $0.limits.memoryBytes = 8 << 20 }
        let large = try Fixtures.image("interlaced-large.png")
        #expect(try await harness.refusal(large, variant)?.code == .memory)
        #expect(try await harness.refusal(try Fixtures.image("plain.jpg")) == nil)
    }

    @Test func `near the memory limit a variant that fails by rule fails alone`() async throws {
        let harness = TranscodeHarness { $0.limits.memoryBytes = 320 << 20 }
        let output = try await harness.make(
            try Fixtures.image("interlaced-large.png"),
            #""transform":[{"type":"crop","x":90000,"y":0,"width":8,"height":8}]"#, variant)
        #expect(throws: TranscodeError.self) { try output.made(0) }
        if case .failure(let error) = output.report.variants[0] { #expect(error.code == .transform) }
        #expect(try output.made(1).width == 8)
    }

    @Test func `cancelling a request kills its child and fails with 2002`() async throws {
        let harness = TranscodeHarness()
        let (child, error) = try await holding(harness, cancelling: true)
        #expect(error?.code == .cancelled)
        #expect(kill(child, 0) == -1)
        #expect(try await harness.refusal(try Fixtures.image("plain.jpg")) == nil)
    }

    @Test func `a child is replaced after imagesPerChild images`() async throws {
        let harness = TranscodeHarness { $0.imagesPerChild = 2 }
        let child = try await idleChild(harness)
        _ = try await harness.make(try Fixtures.image("plain.jpg"), variant)
        #expect(harness.pool.children.isEmpty)
        #expect(kill(child, 0) == -1)
        #expect(try await harness.refusal(try Fixtures.image("plain.jpg")) == nil)
    }

    @Test func `a child that holds too much memory between two images is replaced`() async throws {
        let harness = TranscodeHarness { $0.idleResidentBytes = 1 }
        _ = try await harness.make(try Fixtures.image("plain.jpg"), variant)
        #expect(harness.pool.children.isEmpty)
    }

    @Test func `a program that is not a transcoder counts as a child that died`() async throws {
        #expect(try await TranscodeHarness { $0.executable = "/bin/true" }.refusal([])?.code == .died)
    }

    @Test func `shutdown ends every child and later requests fail`() async throws {
        let harness = TranscodeHarness { $0.count = 2 }
        let child = try await idleChild(harness)
        await harness.pool.shutdown()
        #expect(kill(child, 0) == -1)
        #expect(harness.pool.children.isEmpty)
        #expect(try await harness.refusal(try Fixtures.image("plain.jpg"))?.code == .cancelled)
    }

    @Test func `two images are processed at the same time by two children`() async throws {
        let harness = TranscodeHarness { $0.count = 2 }
        let image = try Fixtures.image("plain.jpg"), variant = variant
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 { group.addTask { try await harness.make(image, variant).made().width } }
            for try await width in group { #expect(width == 8) }
        }
        #expect((1...2).contains(harness.pool.children.count))
    }

    @Test func `a full disk fails with 501, not 402`() async throws {
        let source = try ScratchFile(try Fixtures.image("plain.jpg"))
        let full = open("/dev/full", O_WRONLY)
        defer { close(full) }
        let request = TranscodeRequest(
            source: source.descriptor, variants: [try Variant(json: #"{"name":"v","keySuffix":"x"}"#.utf8)],
            outputs: [full])
        let report = try await TranscodeHarness().pool.transcode(request)
        guard case .failure(let error) = report.variants[0] else {
            Issue.record("it was written")
            return
        }
        #expect(error.code == .localFault)
    }

    private static func waitForEnd(_ child: Int32) async {
        _ = await reached {
            let text = (try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)) ?? ""
            let state = text.split(separator: ")").last?.split(separator: " ").first
            // The first thread is a zombie before the others have closed the socket.
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(child)/task")) ?? []
            return (state == "Z" && threads.count <= 1) || text.isEmpty
        }
    }
}
