import Foundation
import Glibc
import TestSupport
import Testing

@testable import Transcoder

/// The program of the children: where it is searched, and a transcoder that cannot be started.
@Suite(.timeLimit(.minutes(5)))
struct NoChildTests {
    @Test func `no descriptors, memory or processes are faults of the machine, other reasons are 301`() {
        for number in [EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN] {
            let error = TranscodeError.noChild("x cannot be started", number)
            #expect(error.code == .localFault, "errno \(number)")
            #expect(error.domain == "LarderErrorDomain", "errno \(number)")
            #expect(error.message == "x cannot be started (errno \(number))")
        }
        for number in [ENOENT, EACCES, ENOEXEC, EPIPE] {
            #expect(TranscodeError.noChild("x", number).code == .died, "errno \(number)")
        }
    }

    @Test func `the program is searched where the running one is and in its prefix, or where the variable says`() {
        let places = ["/opt/bin", "/opt/lib/larder"].map { $0 + "/larder-transcoder" }
        #expect(TranscoderProgram.paths(of: "/opt/bin/larder", variable: nil) == places)
        // The kernel's name of a program whose file was replaced.
        #expect(TranscoderProgram.paths(of: "/opt/bin/larder (deleted)", variable: "") == places)
        #expect(TranscoderProgram.paths(of: "/opt/bin/larder", variable: "/x/y") == ["/x/y"])
    }

    @Test func `a program that does not exist is a fault of the machine, which names it`() async throws {
        let harness = TranscodeHarness { $0.executable = "/nonexistent/program" }
        let error = try await harness.refusal(try Fixtures.image("plain.jpg"))
        #expect(error?.code == .localFault)
        #expect(error?.message == "/nonexistent/program cannot be started (errno \(ENOENT))")
    }

    @Test func `a program that was missing is started once it is there, and stays when its file is replaced`()
        async throws
    {
        let directory = try TemporaryDirectory(), program = directory.file("larder-transcoder")
        let harness = TranscodeHarness {
            ($0.executable, $0.imagesPerChild) = (program, 1)
        }
        let image = try Fixtures.image("plain.jpg")
        #expect(try await harness.refusal(image)?.code == .localFault)
        try FileManager.default.createSymbolicLink(atPath: program, withDestinationPath: Products.transcoder)
        #expect(try await harness.refusal(image) == nil)
        // As a package does that is upgraded.
        try FileManager.default.createSymbolicLink(atPath: program + ".new", withDestinationPath: "/bin/true")
        #expect(rename(program + ".new", program) == 0)
        #expect(try await harness.refusal(image) == nil)
        #expect(harness.pool.counts.started == 2)
    }

    @Test func `a program of another version is a fault of the machine`() async throws {
        let speaker = """
            import os, socket, sys
            pool, child = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            pool.send(b'{"version":1}')
            os.dup2(child.fileno(), 3, True)
            print(os.waitstatus_to_exitcode(os.waitpid(os.spawnv(os.P_NOWAIT, sys.argv[1], [sys.argv[1]]), 0)[1]))
            """
        let code = try await SystemTool.run(["python3", "-c", speaker, Products.transcoder])
        #expect(code == "\(ChildExit.otherVersion)\n")
        let harness = TranscodeHarness {
            $0.executable = "/bin/sh"
            $0.arguments = ["-c", "head -c 1 <&3 >/dev/null; exit \(ChildExit.otherVersion)"]
        }
        let error = try await harness.refusal(try Fixtures.image("plain.jpg"))
        #expect(error?.code == .localFault)
        #expect(error?.message == "/bin/sh is of another version than the program that starts it")
    }

    @Test func `the program does nothing by hand`() async throws {
        let outcome = try await RunningCommand(Products.transcoder, [], environment: [:]).outcome()
        #expect(outcome.code == 64)
        #expect(outcome.errorText.hasPrefix("larder-transcoder: larder starts it"))
    }
}
