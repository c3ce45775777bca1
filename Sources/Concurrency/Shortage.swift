import Glibc

/// The end of a process to which the system refuses a thread or a descriptor that it cannot work without.
package enum Shortage {
    /// Writes `larder: WHAT: CAUSE (CALL, errno N)` to standard error and exits with code 1.
    ///
    /// The machine is at fault, not the program, so this is no trap. No caller could continue: an executor without its
    /// thread runs no job. Exit handlers do not run, as other threads may hold what they need.
    package static func exit(_ what: String, _ call: String, errno code: Int32) -> Never {
        let line = "larder: \(what): \(String(cString: strerror(code))) (\(call), errno \(code))\n"
        _ = Array(line.utf8).withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        _exit(1)
    }
}
