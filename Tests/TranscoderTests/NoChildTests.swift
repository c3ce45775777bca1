import Glibc
import Testing

@testable import Transcoder

/// A transcoder that cannot be started.
@Suite(.timeLimit(.minutes(5)))
struct NoChildTests {
    @Test func `no descriptors, memory or processes are faults of the machine, other reasons are 301`() {
        for number in [EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN] {
            let error = TranscodeError.noChild("x cannot be started", number)
            #expect(error.code == .localFault && error.domain == "LarderErrorDomain", "errno \(number)")
            #expect(error.message == "x cannot be started (errno \(number))")
        }
        for number in [ENOENT, EACCES, ENOEXEC, EPIPE] {
            #expect(TranscodeError.noChild("x", number).code == .died, "errno \(number)")
        }
    }

    @Test func `a program that does not exist is 301`() async throws {
        let harness = TranscodeHarness { $0.executable = "/nonexistent/program" }
        let error = try await harness.refusal(try Fixtures.image("plain.jpg"))
        #expect(error?.code == .died)
        #expect(error?.message == "/nonexistent/program cannot be started (errno \(ENOENT))")
    }
}
