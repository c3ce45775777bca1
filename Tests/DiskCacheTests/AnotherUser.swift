import Foundation
import Glibc

/// Runs code as another user for file access, on a thread of its own.
enum AnotherUser {
    /// Usually `nobody`.
    static let number: UInt32 = 65_534

    /// Whether this process can do so.
    static let isPossible = getuid() == 0 && dlsym(nil, "setfsuid") != nil

    struct NotAllowed: Error {}

    /// Runs `body` as the other user.
    static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        typealias Call = @convention(c) (UInt32) -> Int32
                        guard let symbol = dlsym(nil, "setfsuid") else { throw NotAllowed() }
                        let become = unsafeBitCast(symbol, to: Call.self)
                        _ = become(number)
                        // setfsuid returns the previous user and reports no errors.
                        guard become(number) == Int32(number) else { throw NotAllowed() }
                        return try body()
                    })
            }
        }
    }
}
