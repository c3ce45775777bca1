/// Tells a process to become a coder's program.
package struct CoderLaunch: SocketMessage {
    /// The last argument of the transcoder's program that makes it become a coder's program.
    package static let argument = "--coder"

    package let coder: ImageCoder
    /// Maximum memory of the program in bytes, including libraries.
    package let memoryBytes: Int
    /// Maximum output in bytes.
    package let outputBytes: Int
    /// Processor time in whole seconds after which the kernel ends the program if the pool has not.
    package let processorSeconds: Int
    /// Whether the program runs if the kernel lacks a part of the sandbox.
    package let sandbox: SandboxPolicy
    package let parent: Int32

    /// Code and libraries of large programs, which need address space rather than memory.
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

/// Sent before the process becomes the program: without an error just before; with an error if it could not.
package struct CoderReply: SocketMessage {
    package let error: TranscodeError?

    package init(_ error: TranscodeError? = nil) { self.error = error }
}
