import Foundation
import Glibc
import TestSupport
import Testing

/// A server that accepts connections and never answers.
@Suite(.timeLimit(.minutes(5)))
struct SilentDatabaseTests {
    static let clockLibrary = ["x86_64", "aarch64"].lazy
        .map { machine -> String in "/usr/lib/\(machine)-linux-gnu/faketime/libfaketimeMT.so.1" }
        .first { access($0, R_OK) == 0 }

    @Test(.enabled(if: clockLibrary != nil))
    func `a connection attempt ends after its time limit, also when the clock is set back meanwhile`() async throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
                    && listen(descriptor, 16) == 0
            }
        }
        #expect(isListening)
        let port = UInt16(bigEndian: name.sin_port)
        let directory = try TemporaryDirectory()
        let clock = directory.file("clock")
        try Data("+0".utf8).write(to: URL(filePath: clock))
        Thread.detachNewThread {
            // Kept open: it is closed with the process.
            _ = accept(descriptor, nil, nil)
            try? Data("-1d".utf8).write(to: URL(filePath: clock))
        }
        let outcome = try await LarderCommand(
            "check", "--database", "postgresql://larder@127.0.0.1:\(port)/larder?connect_timeout=2",
            environment: [
                "LD_PRELOAD": try #require(Self.clockLibrary), "FAKETIME_TIMESTAMP_FILE": clock,
                "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            ]
        ).run()
        #expect(outcome.code == 1)
        #expect(outcome.errorText.contains("127.0.0.1:\(port): no answer within"), Comment(rawValue: outcome.errorText))
    }
}
