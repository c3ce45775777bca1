import FoundationEssentials
import Glibc

/// The columns of a help page.
package enum PageWidth {
    /// The columns of the terminal; where standard output is none, COLUMNS, else 120. From 40 to 200.
    package static var current: Int {
        of(terminal: terminal, variable: ProcessInfo.processInfo.environment["COLUMNS"])
    }

    package static func of(terminal: Int?, variable: String?) -> Int {
        min(max(terminal ?? variable.flatMap { Int($0) } ?? 120, 40), 200)
    }

    private static var terminal: Int? {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }
}
