import Foundation
import Glibc
import Testing

/// A system call that fails with a given error number on one thread, which ends afterwards, by a seccomp filter. It
/// simulates faults of a disk that a test cannot cause.
enum DeniedCall: String, Sendable, CustomTestStringConvertible {
    /// `openat` that creates a file.
    case create
    case write, setAttribute, dataToDisk, fileToDisk, rename
    /// `openat` of a directory.
    case openDirectory
    case link

    /// The calls that a store with extended data makes up to the rename.
    static let ofStore: [DeniedCall] = [.create, .write, .setAttribute, .dataToDisk, .fileToDisk, .rename]

    var testDescription: String { rawValue }

    /// The call's number, and the bits of its third argument of which one must be set.
    private var call: (number: UInt32, flags: UInt32)? {
        #if arch(x86_64)
            switch self {
            case .create: (257, UInt32(O_CREAT))
            case .write: (1, 0)
            case .setAttribute: (190, 0)
            case .dataToDisk: (75, 0)
            case .fileToDisk: (74, 0)
            case .rename: (82, 0)
            case .openDirectory: (257, UInt32(O_DIRECTORY))
            case .link: (86, 0)
            }
        #else
            nil
        #endif
    }

    /// Whether this architecture is supported and the kernel has seccomp filters.
    static let isPossible: Bool = {
        guard DeniedCall.create.call != nil else { return false }
        return access("/proc/sys/kernel/seccomp/actions_avail", F_OK) == 0
    }()

    struct NoFilter: Error {}

    /// The result of `body` on a thread where the call always fails with `number`.
    func withNumber<Value: Sendable>(
        _ number: Int32, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        try deny(number)
                        return try body()
                    })
            }
        }
    }

    /// One instruction of the filter: code, jumps where true and where false, operand.
    private struct Instruction {
        var code: UInt16
        var whenTrue: UInt8 = 0
        var whenFalse: UInt8 = 0
        var operand: UInt32
    }

    private struct Program {
        var length: UInt16
        var instructions: UnsafePointer<Instruction>?
    }

    /// Installs the filter for this thread and those that it starts.
    private func deny(_ number: Int32) throws {
        guard let call, let symbol = dlsym(nil, "prctl") else { throw NoFilter() }
        typealias Control = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
        let control = unsafeBitCast(symbol, to: Control.self)
        let load: UInt16 = 0x20
        let isEqual: UInt16 = 0x15
        let hasBit: UInt16 = 0x45
        let answer: UInt16 = 0x06
        let instructions =
            [
                Instruction(code: load, operand: 0),
                Instruction(code: isEqual, whenFalse: call.flags == 0 ? 1 : 3, operand: call.number),
            ]
            + (call.flags == 0
                ? []
                // The low half of the third argument.
                : [Instruction(code: load, operand: 32), Instruction(code: hasBit, whenFalse: 1, operand: call.flags)])
            + [
                Instruction(code: answer, operand: 0x0005_0000 | UInt32(number)),
                Instruction(code: answer, operand: 0x7fff_0000),
            ]
        let isDenied = instructions.withUnsafeBufferPointer { buffer in
            withUnsafePointer(to: Program(length: UInt16(buffer.count), instructions: buffer.baseAddress)) { program in
                // PR_SET_NO_NEW_PRIVS, without which only root may filter; PR_SET_SECCOMP with SECCOMP_MODE_FILTER.
                control(38, 1, 0, 0, 0) == 0 && control(22, 2, UInt(bitPattern: program), 0, 0) == 0
            }
        }
        guard isDenied else { throw NoFilter() }
    }
}
