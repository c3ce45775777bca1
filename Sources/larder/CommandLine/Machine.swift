import Foundation

/// Facts of the machine that defaults depend on.
enum Machine {
    /// Cores this process may use, at least 1.
    static var cores: Int { max(1, ProcessInfo.processInfo.activeProcessorCount) }

    /// The host's name.
    static var host: String { ProcessInfo.processInfo.hostName }
}
