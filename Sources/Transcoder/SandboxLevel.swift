/// What the kernel denies a transcoder; limits of memory, time, file size and descriptors hold at each level.
public enum SandboxLevel: String, Sendable, Hashable, Codable, CaseIterable {
    /// All system calls but those listed in docs/architecture.md (seccomp), and again files, ports and other processes
    /// (Landlock).
    case full
    /// All system calls but those listed.
    case withoutLandlock = "without-landlock"
    /// Files by name, ports and other processes, as far as the kernel's version of Landlock can.
    case withoutSeccomp = "without-seccomp"
    /// Nothing.
    case limitsOnly = "limits-only"

    /// The level of a process for which these parts hold.
    package init(filtersCalls: Bool, deniesFiles: Bool) {
        self =
            switch (filtersCalls, deniesFiles) {
            case (true, true): .full
            case (true, false): .withoutLandlock
            case (false, true): .withoutSeccomp
            case (false, false): .limitsOnly
            }
    }

    /// What this kernel or container lacks; nil for `full`.
    public var missing: String? {
        switch self {
        case .full: nil
        case .withoutLandlock: "Landlock"
        case .withoutSeccomp: "seccomp filters"
        case .limitsOnly: "seccomp filters and Landlock"
        }
    }
}

/// Whether images are decoded where the kernel or a container lacks a part of the sandbox.
public enum SandboxPolicy: String, Sendable, Hashable, Codable, CaseIterable {
    /// They are refused with error 501 at every level but `full`.
    case required
    /// They are decoded at every level.
    case bestEffort = "best-effort"

    /// Checks the level that a transcoder has reached.
    ///
    /// - Throws: `TranscodeError` 501.
    package func check(_ level: SandboxLevel?) throws(TranscodeError) {
        guard self == .required, level != .full else { return }
        throw TranscodeError(
            .localFault,
            "the kernel or the container lacks \((level ?? .limitsOnly).missing ?? ""), so the transcoder's sandbox is "
                + "incomplete; --sandbox best-effort decodes without it")
    }
}
