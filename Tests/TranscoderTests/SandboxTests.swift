import Foundation
import Glibc
import Testing
@testable import Transcoder

/// What a child may do, and how much memory all of them may take.
@Suite(.timeLimit(.minutes(5)))
struct SandboxTests {
    @Test func `a child reaches no network, no file, no program and no other process`() async throws {
        let walls = try await TranscodeHarness().pool.selfTest().walls
        #expect(walls.count == 5)
        // The filter of system calls may be missing where the kernel was built without it; then doctor says so.
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        if status.contains("Seccomp:") { #expect(walls.values.allSatisfy { $0 }, "\(walls)") }
        #expect(walls["memory limit"] == true)
    }

    @Test func `the filter stands on every thread of a child`() async throws {
        let kitchen = TranscodeHarness()
        _ = try await kitchen.make(try Fixtures.picture("plain.jpg"), #""keySuffix":"x","format":"avif""#)
        let child = try #require(kitchen.pool.children.first)
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(child)/task")
        var checked = 0
        for thread in threads {
            let text = (try? String(contentsOfFile: "/proc/\(child)/task/\(thread)/status", encoding: .utf8)) ?? ""
            guard text.contains("Seccomp:") else { continue }
            #expect(text.contains("Seccomp:\t2"), "thread \(thread)")
            checked += 1
        }
        #expect(checked > 0)
    }

    /// libaom starts threads whatever libvips is told; x265 is held the same way.
    @Test func `an AVIF's encoder keeps to one processor, however many threads it starts`() async throws {
        let kitchen = TranscodeHarness()
        let picture = MadePicture.map(256, 256)
        var found: [String: Set<String>] = [:]
        // The threads live for as long as the encoder is at work: looked for until they are met.
        while found.isEmpty && !Task.isCancelled {
            let ended = Flag()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    defer { ended.set() }
                    _ = try await kitchen.make(
                        picture, #""transform":[{"type":"resize","width":2400,"height":2000}],"format":"avif""#)
                }
                while !ended.isSet && !Task.isCancelled {
                    // Asked each time: a child that held much memory after a picture is replaced.
                    for (name, processors) in kitchen.pool.children.flatMap(Self.threads) where name.contains("aom") {
                        found[name, default: []].insert(processors)
                    }
                    await Task.yield()
                }
                try await group.waitForAll()
            }
        }
        for (name, processors) in found {
            #expect(processors.allSatisfy { !$0.contains(",") && !$0.contains("-") }, "\(name): \(processors)")
        }
    }

    /// The name of each thread, and the processors it may run on, `0-1`.
    private static func threads(of process: Int32) -> [(name: String, processors: String)] {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return numbers.compactMap { number in
            let path = "/proc/\(process)/task/\(number)/status"
            guard let status = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
            func field(_ name: String) -> String {
                let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
                return line.map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) } ?? ""
            }
            return (field("Name"), field("Cpus_allowed_list"))
        }
    }

    @Test func `one child's crash leaves its neighbour its picture`() async throws {
        let kitchen = TranscodeHarness { $0.count = 2 }
        let picture = try Fixtures.picture("plain.jpg")
        let variant = #""thumbnail":{"width":8,"height":8}"#
        // The second starts when a picture comes while the first is at work.
        while kitchen.pool.children.count < 2 && !Task.isCancelled {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { _ = try await kitchen.make(picture, variant) } }
                try await group.waitForAll()
            }
        }
        let children = kitchen.pool.children
        for child in children { kill(child, SIGSTOP) }
        let codes = try await withThrowingTaskGroup(of: TranscodeError.Code?.self) { group in
            for _ in 0..<2 { group.addTask { try await kitchen.refusal(picture, variant)?.code } }
            // Both are stopped, so both stay at work.
            while kitchen.pool.atWork < 2 && !Task.isCancelled { await Task.yield() }
            kill(children[0], SIGSEGV)
            for child in children { kill(child, SIGCONT) }
            return try await group.reduce(into: [TranscodeError.Code?]()) { $0.append($1) }
        }
        #expect(codes.contains(.died) && codes.contains(nil), "\(codes)")
    }

    @Test func `pictures that need much memory take turns, in the order of asking`() {
        var ledger = MemoryReservations(total: 100)
        func enters(_ ticket: UInt64, _ bytes: Int) -> Bool { ledger.enter(ticket, bytes: bytes) }
        let first = ledger.join(), second = ledger.join(), third = ledger.join()
        let early = enters(second, 10)
        #expect(!early, "not before the first")
        let begins = enters(first, 70)
        #expect(begins)
        let full = enters(second, 40), overtaking = enters(third, 10)
        #expect(!full && !overtaking, "no room, and nobody overtakes")
        ledger.giveBack(70)
        let next = enters(second, 40), last = enters(third, 10)
        #expect(next && last && ledger.used == 50)
        let huge = ledger.join(), after = ledger.join()
        let tooMuch = enters(huge, 1000)
        #expect(!tooMuch)
        ledger.leave(huge)
        let follows = enters(after, 10)
        #expect(follows)
        for bytes in [40, 10, 10] { ledger.giveBack(bytes) }
        let alone = enters(ledger.join(), 1000)
        #expect(alone, "more than there is goes alone")
    }

    @Test func `a pool with little memory makes large pictures one after another, and one cancelled leaves the queue`()
        async throws
    {
        let kitchen = TranscodeHarness {
            $0.count = 3
            $0.memoryBudget = 1
        }
        let large = try Fixtures.picture("interlaced-large.png"), variant = #""thumbnail":{"width":8,"height":8}"#
        try await withThrowingTaskGroup(of: TranscodeError.Code?.self) { group in
            for _ in 0..<3 { group.addTask { try await kitchen.refusal(large, variant)?.code } }
            for try await code in group { #expect(code == nil) }
        }
        let cancelled = try await withThrowingTaskGroup(of: TranscodeError.Code?.self) { group in
            for _ in 0..<3 { group.addTask { try await kitchen.refusal(large, variant)?.code } }
            group.cancelAll()
            return try await group.reduce(into: [TranscodeError.Code?]()) { $0.append($1) }
        }
        #expect(cancelled.allSatisfy { $0 == nil || $0 == .cancelled })
        #expect(try await kitchen.refusal(large, variant) == nil, "nothing is held back")
    }

    @Test func `no message, however mangled, ends a reader`() throws {
        var random = SeededRandom(7)
        for sample in try ChildProtocol.samples() {
            #expect(ChildProtocol.isRequest(sample) || ChildProtocol.isReply(sample) || sample.count < 40)
            for _ in 0..<300 {
                let bytes = Mutation.random(of: sample, beside: sample, &random)
                _ = ChildProtocol.isRequest(bytes)
                _ = ChildProtocol.isReply(bytes)
            }
        }
        #expect(!ChildProtocol.isReply([]) && !ChildProtocol.isRequest(Array("null".utf8)))
    }
}
