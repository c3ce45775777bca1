import Glibc
import ImageModel
import TestSupport
import Testing

@testable import Transcoder

/// The abilities of code that has taken over a child: a library in its place tries system calls, at each level of the
/// sandbox.
@Suite(.timeLimit(.minutes(5)))
struct SystemCallTests {
    /// Who the child runs as: the user of the tests and, where that is root, an ordinary one, too.
    enum Account: Sendable { case own, ordinary }

    static let accounts: [Account] = geteuid() == 0 ? [.own, .ordinary] : [.own]

    /// The command line that runs `words` under an account.
    static func words(_ account: Account, _ words: [String]) async throws -> [String] {
        guard account == .ordinary, try await OrdinaryUser.canRunLarder() else { return words }
        return OrdinaryUser.words + words
    }

    /// Denied, or a call that the kernel does not have.
    private static let denials: Set<Int32> = [EPERM, ENOSYS]

    @Test(arguments: [SandboxLevel.full, .withoutLandlock], accounts)
    func `with the filter, no call works but those on the given descriptors`(
        _ level: SandboxLevel, _ account: Account
    ) async throws {
        let results = try await Self.results(level, account)
        let expected = results.filter { $0.key.hasPrefix("+") }
        let others = results.filter { !$0.key.hasPrefix("+") && !$0.key.hasPrefix("=") }
        #expect(expected.count == 4, "\(expected)")
        #expect(expected.values.allSatisfy { $0 == 0 }, "\(expected)")
        #expect(others.count > 150, "\(others.count)")
        #expect(others["execve"] == EPERM, "\(others.count)")
        for (name, number) in others { #expect(Self.denials.contains(number), "\(name): errno \(number)") }
        try Self.expectReadOnlyOriginal(results)
    }

    @Test(arguments: accounts)
    func `without the filter, Landlock and the limits hold`(_ account: Account) async throws {
        let results = try await Self.results(.withoutSeccomp, account)
        let denied = [
            "open_passwd", "open_proc", "open_new", "openat2", "truncate", "rename", "unlink", "rmdir", "mkdir", "link",
            "symlink", "mknod", "execve", "mount", "ptrace", "process_vm_readv", "process_vm_writev",
        ]
        for name in denied { try Self.expectDenied(name, results, [EPERM, EACCES, EXDEV]) }
        try Self.expectLimits(results)
    }

    @Test(arguments: accounts)
    func `without the filter and Landlock, the limits hold`(_ account: Account) async throws {
        try Self.expectLimits(try await Self.results(.limitsOnly, account))
    }

    /// What holds at every level: no terminal, no capability, limits that cannot be raised, an original that cannot be
    /// changed.
    private static func expectLimits(_ results: [String: Int32]) throws {
        #expect(results.count > 150, "\(results.count)")
        try expectReadOnlyOriginal(results)
        try expectDenied("ioctl_TIOCSTI", results, [EPERM, ENOTTY, EIO])
        let denied = [
            "setrlimit", "prlimit64", "capset", "chroot", "mount", "swapon", "sethostname", "reboot", "kexec_load",
            "init_module", "delete_module", "acct", "pivot_root", "open_by_handle_at",
        ]
        for name in denied { try expectDenied(name, results, denials) }
    }

    private static func expectReadOnlyOriginal(_ results: [String: Int32]) throws {
        try expectDenied("=pwrite_original", results, [EBADF])
        try expectDenied("=mmap_original", results, [EACCES, EPERM])
    }

    private static func expectDenied(
        _ name: String, _ results: [String: Int32], _ numbers: Set<Int32>
    ) throws {
        let number = try #require(results[name], "\(name) succeeded, or was not tried")
        #expect(numbers.contains(number), "\(name): errno \(number)")
    }

    @Test func `a system call of another architecture ends the child`() async throws {
        #if arch(x86_64)
            let trial = try await SystemCallTrial()
            let harness = TranscodeHarness { $0.environment += trial.environment }
            for kind in [SystemCallTrial.Kind.entryOf32Bit, .x32] {
                let error = try await harness.refusal(kind.image)
                // A kernel without the entry for 32-bit programs ends the process, too.
                #expect(error?.signal == SIGSYS || kind == .entryOf32Bit && error?.signal == SIGSEGV, "\(kind)")
            }
        #endif
    }

    /// What a kernel lacks that reaches `level`.
    private static func missing(_ level: SandboxLevel) -> [LimitedKernel.Part] {
        switch level {
        case .full: []
        case .withoutLandlock: [.landlock]
        case .withoutSeccomp: [.seccomp]
        case .limitsOnly: [.seccomp, .landlock]
        }
    }

    /// The results of the calls in a child at `level`.
    private static func results(_ level: SandboxLevel, _ account: Account) async throws -> [String: Int32] {
        let trial = try await SystemCallTrial(), kernel = try await LimitedKernel()
        // The account is changed last: setpriv can start a program in a directory that only root may search.
        let words = kernel.words(without: missing(level), try await words(account, [Products.transcoder]))
        let harness = TranscodeHarness { configuration in
            configuration.executable = "/usr/bin/env"
            configuration.arguments = words
            configuration.environment += trial.environment
            if level != .full { configuration.sandbox = .bestEffort }
        }
        #expect(try await harness.pool.sandboxLevel() == level)
        let source = try ScratchFile(SystemCallTrial.Kind.calls.image), output = try ScratchFile()
        let variant = try Variant(json: #"{"name":"v","thumbnail":{"width":8,"height":8}}"#.utf8)
        let request = TranscodeRequest(
            source: source.descriptor, variants: [variant], outputs: [output.descriptor])
        let error = await #expect(throws: TranscodeError.self) { try await harness.pool.transcode(request) }
        let report = ScratchFile.content(output.descriptor)
        // The trial ends with this code after its last call, as does the program that it starts where that is allowed.
        #expect(error?.message == "the transcoder exited with code 0", "\(String(decoding: report, as: UTF8.self))")
        return SystemCallTrial.results(report)
    }
}
