import Glibc
import TestSupport
import Testing

@testable import Transcoder

/// What the libraries of a child report: in the error of their own image, and nowhere else.
@Suite(.timeLimit(.minutes(5)))
struct ChildErrorsTests {
    private func write(_ text: String, to errors: borrowing ChildErrors) {
        let bytes = Array(text.utf8)
        #expect(Glibc.write(errors.writer, bytes, bytes.count) != 0)
    }

    @Test func `the last line is taken once, without control characters, and is bounded`() throws {
        let errors = try ChildErrors()
        #expect(errors.takeLastLine() == nil)
        write("a warning\nfree(): \u{1B}[1minvalid pointer\r\n\n", to: errors)
        #expect(errors.takeLastLine() == "free(): [1minvalid pointer")
        #expect(errors.takeLastLine() == nil)
        write(String(repeating: "x", count: 1000), to: errors)
        #expect(errors.takeLastLine() == String(repeating: "x", count: 200))
    }

    @Test func `a child that writes more than the pipe holds is not blocked`() throws {
        let errors = try ChildErrors()
        for _ in 0..<100 { write(String(repeating: "x", count: 4095) + "\n", to: errors) }
        #expect(errors.takeLastLine()?.count == 200)
        write("later\n", to: errors)
        #expect(errors.takeLastLine() == "later")
    }

    @Test func `the error of a dead child has its last line on standard error`() async throws {
        let harness = TranscodeHarness {
            $0.executable = "/bin/sh"
            // It waits for the request, which the pool could not send to a process that has ended.
            $0.arguments = ["-c", "head -c 1 <&3 >/dev/null; echo 'a warning' >&2; echo 'the reason' >&2; exit 7"]
        }
        let error = try await harness.refusal(try Fixtures.image("plain.jpg"))
        #expect(error?.code == .died)
        #expect(
            error?.message.hasSuffix("the transcoder exited with code 7: the reason") == true, "\(error?.message ?? "")"
        )
    }

    /// A byte before a marker makes libjpeg warn, and the image is decoded.
    @Test func `an error has no message about an earlier image`() async throws {
        var warned = try Fixtures.image("plain.jpg")
        let marker = try #require(warned.indices.dropLast().first { warned[$0] == 0xFF && warned[$0 + 1] == 0xC4 })
        warned.insert(0, at: marker)
        let broken = Array(try Fixtures.image("animated.gif").prefix(200))
        let harness = TranscodeHarness { $0.limits.allowsPlanes = false }
        let alone = try await harness.refusal(broken)
        #expect(try await harness.refusal(warned) == nil)
        let after = try await harness.refusal(broken)
        #expect(alone?.code == .undecodable, "\(String(describing: after))")
        #expect(after == alone, "\(String(describing: after))")
    }
}
