/// The kernel's restrictions on a transcoder. Limits of memory, time, file size and descriptors apply at each level.
public enum SandboxLevel: String, Sendable, Hashable, Codable, CaseIterable {
    /// Denies all system calls but the list in docs/architecture.md (seccomp), and again files, ports and other
    /// processes (Landlock).
    case full
    /// Denies all system calls but the list.
    case withoutLandlock = "without-landlock"
    /// Denies files by name, ports and other processes, as far as the kernel's Landlock version can.
    case withoutSeccomp = "without-seccomp"
    /// Denies nothing.
    case limitsOnly = "limits-only"

    package init(filtersCalls: Bool, deniesFiles: Bool) {
        self =
            switch (filtersCalls, deniesFiles) {
            case (true, true): .full
            case (true, false): .withoutLandlock
            case (false, true): .withoutSeccomp
            case (false, false): .limitsOnly
            }
    }

    /// The missing feature of this kernel or container; nil for `full`.
    public var missing: String? {
        switch self {
        case .full: nil
        case .withoutLandlock: "Landlock"
        case .withoutSeccomp: "seccomp filters"
        case .limitsOnly: "seccomp filters and Landlock"
        }
    }
}

/// Whether images are decoded if the kernel or container lacks a part of the sandbox.
public enum SandboxPolicy: String, Sendable, Hashable, Codable, CaseIterable {
    /// Refuses them with error 501 at every level but `full`.
    case required
    /// Decodes them at every level.
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
