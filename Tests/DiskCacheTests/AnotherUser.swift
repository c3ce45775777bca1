import Foundation
import Glibc

/// Root as another user, as far as files are concerned: on one thread, which ends afterwards.
enum AnotherUser {
    /// `nobody`, or whoever has this number.
    static let number: UInt32 = 65_534

    /// Whether this process may be another.
    static let isPossible = getuid() == 0 && dlsym(nil, "setfsuid") != nil

    struct NotAllowed: Error {}

    /// What `body` gives where files see the other user.
    static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        typealias Call = @convention(c) (UInt32) -> Int32
                        guard let symbol = dlsym(nil, "setfsuid") else { throw NotAllowed() }
                        let become = unsafeBitCast(symbol, to: Call.self)
                        _ = become(number)
                        // It answers who one was before, and has no other way to fail.
                        guard become(number) == Int32(number) else { throw NotAllowed() }
                        return try body()
                    })
            }
        }
    }
}
