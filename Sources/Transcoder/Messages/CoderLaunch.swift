/// The message to a process that becomes the program of a coder.
package struct CoderLaunch: SocketMessage {
    /// The last argument of the transcoder's program, which has it become the program of a coder.
    package static let argument = "--coder"

    package let coder: ImageCoder
    /// The most memory of the program in bytes, its libraries included.
    package let memoryBytes: Int
    /// The longest output in bytes.
    package let outputBytes: Int
    /// Processor time in whole seconds, after which the kernel ends the program if the pool has not.
    package let processorSeconds: Int
    /// Whether the program is started where the kernel lacks a part of the sandbox.
    package let sandbox: SandboxPolicy
    /// The process of the pool.
    package let parent: Int32

    /// Code and libraries of large programs, which take addresses more than memory.
    static let programBytes = 512 << 20

    init(_ coder: ImageCoder, _ limits: TranscodeLimits, _ sandbox: SandboxPolicy, parent: Int32) {
        self.coder = coder
        memoryBytes = limits.memoryBytes + Self.programBytes
        outputBytes = limits.memoryBytes
        processorSeconds = Int((limits.hardTime / .seconds(1)).rounded(.up)) + 1
        self.sandbox = sandbox
        self.parent = parent
    }
}

/// A message of that process before it becomes the program. One without an error says that it is about to; one that
/// follows says why it could not.
package struct CoderReply: SocketMessage {
    package let error: TranscodeError?

    package init(_ error: TranscodeError? = nil) { self.error = error }
}
