package import Concurrency
import FoundationEssentials
import Glibc
import ImageModel

/// Standard output and standard error; only this type prints.
package enum Console {
    /// The first `errno` of a failed write to standard output, else 0. EPIPE does not count.
    private static let fault = Locked<Int32>(0)

    /// The error of standard output; nil when its reader has ended (`... | head`).
    package static var failure: CommandError? {
        let code = fault.withLock { $0 }
        return code == 0 ? nil : .larder(.file, "cannot write to standard output: \(String(cString: strerror(code)))")
    }

    /// Called when the reader of standard output has ended, as in `larder … | head`. By default the program ends as by
    /// SIGPIPE, without a message.
    package static let onBrokenPipe = Locked<@Sendable () -> Void> {
        signal(SIGPIPE, SIG_DFL)
        raise(SIGPIPE)
    }

    /// Prints a line of a result to standard output; what could move the cursor is shown as its code.
    package static func line(_ text: String) { put(PrintableText.lines(text) + "\n", on: STDOUT_FILENO) }

    /// Prints text without a newline to standard output.
    package static func write(_ text: String) { put(text, on: STDOUT_FILENO) }

    /// The line of progress at the end of standard error; empty for none.
    private static let progressLine = Locked("")
    private static let clearLine = "\r\u{1B}[K"

    /// Prints a line of the log to standard error, above the line of progress; what could move the cursor is shown as
    /// its code.
    package static func note(_ text: String) { log(noteFormat.withLock { $0 }?(text, nil) ?? text) }

    /// How notes are written, the error that ends the command among them; nil for their text.
    package static let noteFormat = Locked<(@Sendable (String, CommandError?) -> String)?>(nil)

    /// Prints a line of a log to standard error, above the line of progress.
    package static func log(_ text: String) {
        let line = progressLine.withLock { $0 }
        let text = PrintableText.lines(text)
        put(line.isEmpty ? text + "\n" : clearLine + text + "\n" + line, on: STDERR_FILENO)
    }

    /// Redraws the line of progress on standard error, a terminal; nil removes it.
    package static func progress(_ text: String?) {
        let changed = progressLine.withLock { line in
            defer { line = text ?? "" }
            return line != text ?? ""
        }
        if changed { put(clearLine + (text ?? ""), on: STDERR_FILENO) }
    }

    /// The rows and columns of a terminal; 24 and 80 where they are unknown.
    package static func size(_ descriptor: Int32) -> (rows: Int, columns: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return (24, 80) }
        return (size.ws_row > 1 ? Int(size.ws_row) : 24, size.ws_col > 0 ? Int(size.ws_col) : 80)
    }

    /// The columns that a redrawn line may have: a full last column would wrap.
    package static func columns(_ descriptor: Int32) -> Int { max(20, size(descriptor).columns - 1) }

    /// Prints text without a newline to standard error.
    package static func noteRaw(_ text: String) { put(text, on: STDERR_FILENO) }

    /// Prints one line of JSON.
    package static func json(_ value: some Encodable) throws { write(try JSONLine.text(value) + "\n") }

    package static func json(_ object: JSONObject) throws { write(try JSONLine.text(object) + "\n") }

    /// Waits; true at once when the reader of standard output has ended. Blocks.
    package static func readerEnds(within time: Duration) -> Bool {
        // No event is asked for: an error is always reported.
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&output, 1, Int32(clamping: time.milliseconds)) > 0 && Int(output.revents) & Int(POLLERR) != 0
    }

    /// Ends the program as a write to an output without a reader does.
    package static func endAsUnread() { onBrokenPipe.withLock { $0 }() }

    /// Whether a descriptor is a terminal, on which lines can be redrawn.
    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// True if texts for people show the domain and code of an error, as `-v` asks.
    package static var showsCodes: Bool {
        get { codes.withLock { $0 } }
        set { codes.withLock { $0 = newValue } }
    }
    private static let codes = Locked(false)

    /// Prints the error that ends a command: a line on standard error, or the last line of JSON on standard output.
    ///
    /// - Parameter program: the name before the line.
    package static func report(_ error: CommandError, asJSON: Bool, program: String = "larder") {
        let oneLine = String(error.message.map { $0.isNewline ? " " : $0 })
        if asJSON {
            let failure = FailureReason(domain: error.domain, code: error.code, message: oneLine)
            try? json(["error": failure])
        } else {
            let codes = showsCodes ? " (\(error.domain) \(error.code))" : ""
            let text = "\(program): \(oneLine)\(codes)"
            log(noteFormat.withLock { $0 }?(text, error) ?? text)
        }
    }

    private static func put(_ text: String, on descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written >= 0 {
                rest = rest.dropFirst(written)
            } else if errno == EAGAIN {
                // Another process that shares the terminal made it non-blocking.
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if errno != EINTR {
                let code = errno
                if descriptor == STDOUT_FILENO {
                    if code == EPIPE {
                        onBrokenPipe.withLock { $0 }()
                    } else {
                        fault.withLock { $0 = $0 == 0 ? code : $0 }
                    }
                }
                return
            }
        }
    }
}

/// Writes JSON as one line with sorted keys and unescaped slashes.
///
/// A character that `PrintableText` shows as its code is written as an escape, `\u202e`, so that it does nothing on a
/// terminal and ends no line. Its value is the same.
package enum JSONLine {
    package static func text(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let json = String(decoding: try encoder.encode(value), as: UTF8.self)
        // The encoder has escaped what is below U+0020.
        return json.utf8.contains { $0 >= 0x7F } ? PrintableText.json(json) : json
    }
}
