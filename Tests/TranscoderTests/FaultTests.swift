import ImageModel
import Foundation
import Glibc
import Testing
@testable import Transcoder

/// Children that die, hang, or take too much; each fault costs its own picture.
@Suite(.timeLimit(.minutes(5)))
struct FaultTests {
    private let variant = #""thumbnail":{"width":8,"height":8}"#

    /// A child of `kitchen` that has served one picture and waits for the next.
    private func idleChild(_ kitchen: TranscodeHarness) async throws -> Int32 {
        // On a busy machine the start of a child may outlast a short time limit: then another one is started.
        var error = try await kitchen.refusal(try Fixtures.picture("plain.jpg"), variant)
        while error?.code == .time { error = try await kitchen.refusal(try Fixtures.picture("plain.jpg"), variant) }
        #expect(error == nil)
        return try #require(kitchen.pool.children.first)
    }

    /// Stops a child, hands it a picture, and does `fault` once it holds that.
    private func holding(
        _ kitchen: TranscodeHarness, _ fault: @escaping @Sendable (Int32) -> Void = { _ in }, cancelling: Bool = false
    ) async throws -> (child: Int32, error: TranscodeError?) {
        let child = try await idleChild(kitchen)
        kill(child, SIGSTOP)
        let picture = try Fixtures.picture("plain.jpg"), variant = variant
        // On a busy machine a request with a short limit may be over before it is seen at work.
        let ended = Flag()
        let error = try await withThrowingTaskGroup(of: TranscodeError?.self) { group in
            group.addTask {
                defer { ended.set() }
                return try await kitchen.refusal(picture, variant)
            }
            while kitchen.pool.atWork == 0 && !ended.isSet && !Task.isCancelled { await Task.yield() }
            fault(child)
            if cancelling { group.cancelAll() }
            return try await group.next() ?? nil
        }
        return (child, error)
    }

    @Test func `a child killed in mid picture costs that picture alone`() async throws {
        let kitchen = TranscodeHarness()
        let (child, error) = try await holding(kitchen, { kill($0, SIGKILL) })
        #expect(error?.code == .died && error?.signal == SIGKILL)
        #expect(kill(child, 0) == -1, "it is reaped")
        let dish = try await kitchen.make(try Fixtures.picture("plain.jpg"), variant)
        #expect(try dish.made().width == 8)
    }

    @Test func `a crash is told by its signal`() async throws {
        let (_, error) = try await holding(
            TranscodeHarness(),
            { child in
                kill(child, SIGABRT)
                kill(child, SIGCONT)
            })
        #expect(error?.code == .died && error?.signal == SIGABRT)
    }

    @Test func `an interrupt from the terminal and an end of the service leave a child its picture`() async throws {
        let kitchen = TranscodeHarness()
        let (child, error) = try await holding(
            kitchen,
            { child in
                for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGCONT] { kill(child, signal) }
            })
        #expect(error == nil)
        #expect(kitchen.pool.children == [child])
    }

    @Test func `a child killed while it has nothing to do is replaced without a word`() async throws {
        let kitchen = TranscodeHarness()
        let child = try await idleChild(kitchen)
        kill(child, SIGKILL)
        await Self.waitForEnd(child)
        let dish = try await kitchen.make(try Fixtures.picture("plain.jpg"), variant)
        #expect(try dish.made().width == 8)
        #expect(kitchen.pool.children.first != child)
    }

    @Test func `a child that hangs is killed at the hard limit, and replaced`() async throws {
        let kitchen = TranscodeHarness { $0.limits.hardTime = .seconds(3) }
        let (child, error) = try await holding(kitchen)
        #expect(error?.code == .time)
        #expect(kill(child, 0) == -1, "it is gone and reaped")
        #expect(try await kitchen.refusal(try Fixtures.picture("plain.jpg")) == nil)
    }

    @Test func `past the soft limit no further variant is begun`() async throws {
        let kitchen = TranscodeHarness { $0.limits.softTime = .zero }
        let dish = try await kitchen.make(try Fixtures.picture("plain.jpg"), variant)
        guard case .failure(let error) = dish.report.variants[0] else {
            Issue.record("the variant was made")
            return
        }
        #expect(error.code == .time)
    }

    @Test func `a picture that needs more memory than there is, is refused with its code`() async throws {
        let kitchen = TranscodeHarness { $0.limits.memoryBytes = 8 << 20 }
        let large = try Fixtures.picture("interlaced-large.png")
        #expect(try await kitchen.refusal(large, variant)?.code == .memory)
        #expect(try await kitchen.refusal(try Fixtures.picture("plain.jpg")) == nil)
    }

    @Test func `near the memory's end a variant that fails by rule fails alone`() async throws {
        let kitchen = TranscodeHarness { $0.limits.memoryBytes = 320 << 20 }
        let dish = try await kitchen.make(
            try Fixtures.picture("interlaced-large.png"),
            #""transform":[{"type":"crop","x":90000,"y":0,"width":8,"height":8}]"#, variant)
        #expect(throws: TranscodeError.self) { try dish.made(0) }
        if case .failure(let error) = dish.report.variants[0] { #expect(error.code == .transform) }
        #expect(try dish.made(1).width == 8)
    }

    @Test func `cancelling kills the child and says so`() async throws {
        let kitchen = TranscodeHarness()
        let (child, error) = try await holding(kitchen, cancelling: true)
        #expect(error?.code == .cancelled)
        #expect(kill(child, 0) == -1)
        #expect(try await kitchen.refusal(try Fixtures.picture("plain.jpg")) == nil)
    }

    @Test func `a child can open nothing, and keeps to its memory and time`() async throws {
        let kitchen = TranscodeHarness()
        // The limits of a picture stay until the next one comes, but for the room its descriptors need.
        let child = try await idleChild(kitchen)
        let limits = try String(contentsOfFile: "/proc/\(child)/limits", encoding: .utf8)
        func soft(_ name: String) -> Int? {
            let line = limits.split(separator: "\n").first { $0.hasPrefix(name) }
            return line?.dropFirst(26).split(separator: " ").first.flatMap { Int($0) }
        }
        #expect(soft("Max open files").map { $0 <= Pipeline.variantLimit + 16 } == true)
        #expect(soft("Max core file size") == 0)
        #expect(soft("Max address space") != nil)
        #expect(soft("Max cpu time") != nil)
    }

    @Test func `a child is replaced after its number of pictures`() async throws {
        let kitchen = TranscodeHarness { $0.picturesPerChild = 2 }
        let child = try await idleChild(kitchen)
        _ = try await kitchen.make(try Fixtures.picture("plain.jpg"), variant)
        #expect(kitchen.pool.children.isEmpty && kill(child, 0) == -1)
        #expect(try await kitchen.refusal(try Fixtures.picture("plain.jpg")) == nil)
    }

    @Test func `a child that holds too much between two pictures is replaced`() async throws {
        let kitchen = TranscodeHarness { $0.idleResidentBytes = 1 }
        _ = try await kitchen.make(try Fixtures.picture("plain.jpg"), variant)
        #expect(kitchen.pool.children.isEmpty)
    }

    @Test func `a program that is no transcoder is a child that died`() async throws {
        #expect(try await TranscodeHarness { $0.executable = "/bin/true" }.refusal([])?.code == .died)
        #expect(try await TranscodeHarness { $0.executable = "/nowhere" }.refusal([])?.code == .died)
    }

    @Test func `shutting down ends every child and refuses what comes after`() async throws {
        let kitchen = TranscodeHarness { $0.count = 2 }
        let child = try await idleChild(kitchen)
        await kitchen.pool.shutdown()
        #expect(kill(child, 0) == -1 && kitchen.pool.children.isEmpty)
        #expect(try await kitchen.refusal(try Fixtures.picture("plain.jpg"))?.code == .cancelled)
    }

    @Test func `two pictures are in work at once, each with a child of its own`() async throws {
        let kitchen = TranscodeHarness { $0.count = 2 }
        let picture = try Fixtures.picture("plain.jpg"), variant = variant
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 { group.addTask { try await kitchen.make(picture, variant).made().width } }
            for try await width in group { #expect(width == 8) }
        }
        #expect((1...2).contains(kitchen.pool.children.count))
    }

    @Test func `a full disk is the store's failure, not the encoder's`() async throws {
        let source = try ScratchFile(try Fixtures.picture("plain.jpg"))
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
        #expect(error.code == .store)
    }

    private static func waitForEnd(_ child: Int32) async {
        while !Task.isCancelled {
            let text = (try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)) ?? ""
            let state = text.split(separator: ")").last?.split(separator: " ").first
            // The first thread is a zombie before the others have let go of the socket.
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(child)/task")) ?? []
            if (state == "Z" && threads.count <= 1) || text.isEmpty { return }
            await Task.yield()
        }
    }
}
