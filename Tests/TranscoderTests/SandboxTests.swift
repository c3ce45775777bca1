import Foundation
import Glibc
import TestSupport
import Testing

@testable import ImageModel
@testable import Transcoder

/// The sandbox of a child, and the memory of all children together.
@Suite(.timeLimit(.minutes(5)))
struct SandboxTests {
    @Test func `a child has no access to network, files, programs and other processes`() async throws {
        let report = try await TranscodeHarness().pool.selfTest()
        #expect(report.sandboxLevel == .full)
        #expect(report.sandbox.count == 5, "\(report.sandbox)")
        #expect(report.sandbox.values.allSatisfy { $0 }, "\(report.sandbox)")
    }

    @Test(arguments: LimitedKernel.Part.allCases)
    func `without seccomp or Landlock images are refused, unless best effort is wanted`(
        _ part: LimitedKernel.Part
    ) async throws {
        let kernel = try await LimitedKernel(), image = try Fixtures.image("plain.jpg")
        func harness(_ policy: SandboxPolicy) -> TranscodeHarness {
            TranscodeHarness {
                let words = kernel.words(without: [part], [Products.transcoder])
                ($0.executable, $0.arguments, $0.sandbox) = (words[0], Array(words.dropFirst()), policy)
            }
        }
        let error = try await harness(.required).refusal(image)
        #expect(error?.code == .localFault, "returned unharmed by a worker")
        #expect(error?.message.contains(part == .seccomp ? "lacks seccomp filters, " : "lacks Landlock, ") == true)
        #expect(try await harness(.bestEffort).refusal(image) == nil)
        // The test of the codecs reads no image of others.
        #expect(try await harness(.required).pool.selfTest().sandboxLevel != .full)
    }

    @Test(arguments: SystemCallTests.accounts)
    func `a child has its own session, no capabilities, and limits that cannot be raised`(
        _ account: SystemCallTests.Account
    ) async throws {
        let words = try await SystemCallTests.words(account, [Products.transcoder])
        let harness = TranscodeHarness {
            $0.limits.memoryBytes = 64 << 20
            ($0.executable, $0.arguments) = ("/usr/bin/env", words)
        }
        #expect(try await harness.refusal(try Fixtures.image("plain.jpg")) == nil)
        let child = try #require(harness.pool.children.first)
        #expect(getsid(child) == child)
        func text(_ file: String) throws -> String {
            try String(contentsOfFile: "/proc/\(child)/\(file)", encoding: .utf8)
        }
        let status = try text("status")
        // Only root can give up the rest of its bounding set; `no_new_privs` has the same effect.
        let isRoot = geteuid() == 0 && account == .own
        for name in ["CapInh", "CapPrm", "CapEff", "CapAmb"] + (isRoot ? ["CapBnd"] : []) {
            #expect(status.contains("\(name):\t0000000000000000\n"), "\(name)")
        }
        #expect(status.contains("NoNewPrivs:\t1\n"))
        // The files of a process that cannot be traced belong to root.
        let owner = try FileManager.default.attributesOfItem(atPath: "/proc/\(child)/environ")[.ownerAccountID]
        #expect(owner as? UInt32 == 0)
        let limits = try text("limits").split(separator: "\n").map { $0.split(whereSeparator: \.isWhitespace) }
        func limit(_ name: String) -> [Int?] {
            let words = name.split(separator: " ")
            return limits.first { $0.starts(with: words) }?.dropFirst(words.count).prefix(2).map { Int($0) } ?? []
        }
        #expect(limit("Max file size") == [320 << 20, 320 << 20])
        #expect(limit("Max open files") == [48, 48])
        #expect(limit("Max core file size") == [0, 0])
        let space = limit("Max address space")
        #expect(space.count == 2 && space[0] != nil && space[0] == space[1])
    }

    @Test func `the filter of system calls holds for every thread of a child`() async throws {
        let harness = TranscodeHarness()
        _ = try await harness.make(try Fixtures.image("plain.jpg"), #""keySuffix":"x","format":"avif""#)
        let child = try #require(harness.pool.children.first)
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

    /// libaom starts threads of its own; x265 is bound in the same way.
    @Test func `the threads of the AVIF encoder run on one processor`() async throws {
        let harness = TranscodeHarness()
        let image = SyntheticImage.map(256, 256)
        var found: [String: Set<String>] = [:]
        // The threads exist only while the encoder runs, so the test repeats until it finds them.
        while found.isEmpty && !Task.isCancelled {
            let ended = Flag()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    defer { ended.set() }
                    _ = try await harness.make(
                        image, #""transform":[{"type":"resize","width":2400,"height":2000}],"format":"avif""#)
                }
                while !ended.isSet && !Task.isCancelled {
                    // Read each time: a child that held much memory is replaced.
                    for (name, processors) in harness.pool.children.flatMap(Self.threads) where name.contains("aom") {
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

    /// The name of each thread and the processors it may run on, `0-1`.
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

    @Test func `a crash of one child does not affect the other's image`() async throws {
        let harness = TranscodeHarness { $0.count = 2 }
        let image = try Fixtures.image("plain.jpg")
        let variant = #""thumbnail":{"width":8,"height":8}"#
        // The second child starts when a request comes while the first is working.
        while harness.pool.children.count < 2 && !Task.isCancelled {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { _ = try await harness.make(image, variant) } }
                try await group.waitForAll()
            }
        }
        let children = harness.pool.children
        for child in children { kill(child, SIGSTOP) }
        let codes = try await withThrowingTaskGroup(of: TranscodeError.Code?.self) { group in
            for _ in 0..<2 { group.addTask { try await harness.refusal(image, variant)?.code } }
            // Both are stopped, so both keep working.
            _ = await reached { harness.pool.workingCount == 2 }
            kill(children[0], SIGSEGV)
            for child in children { kill(child, SIGCONT) }
            return try await group.reduce(into: [TranscodeError.Code?]()) { $0.append($1) }
        }
        #expect(codes.contains(.died), "\(codes)")
        #expect(codes.contains(nil), "\(codes)")
    }

    @Test
    func `a pool with little memory makes large images one after another, and cancelled requests leave the queue`()
        async throws
    {
        let harness = TranscodeHarness {
            $0.count = 3
            $0.memoryBudget = 1
        }
        let large = try Fixtures.image("interlaced-large.png"), variant = #""thumbnail":{"width":8,"height":8}"#
        try await withThrowingTaskGroup(of: TranscodeError.Code?.self) { group in
            for _ in 0..<3 { group.addTask { try await harness.refusal(large, variant)?.code } }
            for try await code in group { #expect(code == nil) }
        }
        let cancelled = try await withThrowingTaskGroup(of: TranscodeError.Code?.self) { group in
            for _ in 0..<3 { group.addTask { try await harness.refusal(large, variant)?.code } }
            group.cancelAll()
            return try await group.reduce(into: [TranscodeError.Code?]()) { $0.append($1) }
        }
        #expect(cancelled.allSatisfy { $0 == nil || $0 == .cancelled })
        #expect(try await harness.refusal(large, variant) == nil, "no place stays taken")
    }

    @Test func `no corrupt message crashes a reader`() throws {
        var random = SeededRandom(7)
        let setup = ChildSetup(limits: TranscodeLimits(), sandbox: .required)
        let request = ChildRequest(number: 1, operation: .transcode)
        let made = TranscodedVariant(format: .jpeg, width: 1, height: 1, bytes: 1, copied: false)
        var reply = ChildReply()
        reply.header = SourceHeader(format: .jpeg, width: 8, height: 8)
        reply.outcomes = [.made(made), .failed(TranscodeError(.encode, "no", signal: 6))]
        let answer = ChildMessage(number: 1, content: .reply(reply))
        for sample in [try setup.message(), try request.message(), try answer.message()] {
            for _ in 0..<300 {
                let bytes = Mutation.random(of: sample, splicing: sample, &random)
                _ = try? ChildSetup(message: bytes)
                _ = try? ChildRequest(message: bytes)
                _ = try? ChildMessage(message: bytes)
            }
        }
        #expect(try ChildSetup(message: setup.message()).limits == setup.limits)
        guard case .reply(let read) = try ChildMessage(message: answer.message()).content else {
            throw TranscodeError(.died, "another message")
        }
        #expect(read.outcomes.map(\.error?.code) == [nil, .encode])
        #expect(throws: TranscodeError.self) { try ChildMessage(message: []) }
        #expect(throws: TranscodeError.self) { try ChildRequest(message: Array("null".utf8)) }
    }
}
