package import Concurrency
import FoundationEssentials
import Glibc
import ImageModel

/// Standard output and standard error; only this type prints.
package enum Console {
    /// The first `errno` of a failed write to standard output, else 0. Ignores EPIPE.
    private static let fault = Locked<Int32>(0)

    /// The error of standard output; nil if its reader has ended (`... | head`).
    package static var failure: CommandError? {
        let code = fault.withLock { $0 }
        return code == 0 ? nil : .larder(.file, "cannot write to standard output: \(String(cString: strerror(code)))")
    }

    /// Called when the reader of standard output has ended, as in `larder … | head`. By default ends the program as
    /// SIGPIPE does, without a message.
    package static let onBrokenPipe = Locked<@Sendable () -> Void> {
        signal(SIGPIPE, SIG_DFL)
        raise(SIGPIPE)
    }

    /// Prints a result line to standard output; control characters are escaped.
    package static func line(_ text: String) { put(PrintableText.lines(text) + "\n", on: STDOUT_FILENO) }

    /// Prints text without a newline to standard output.
    package static func write(_ text: String) { put(text, on: STDOUT_FILENO) }

    /// The progress line at the end of standard error; empty for none.
    private static let progressLine = Locked("")
    private static let clearLine = "\r\u{1B}[K"

    /// Prints a log line to standard error, above the progress line; control characters are escaped.
    package static func note(_ text: String) { log(noteFormat.withLock { $0 }?(text, nil) ?? text) }

    /// Formats notes, including the error that ends the command; nil prints their text.
    package static let noteFormat = Locked<(@Sendable (String, CommandError?) -> String)?>(nil)

    /// Prints a log line to standard error, above the progress line.
    package static func log(_ text: String) {
        let line = progressLine.withLock { $0 }
        let text = PrintableText.lines(text)
        put(line.isEmpty ? text + "\n" : clearLine + text + "\n" + line, on: STDERR_FILENO)
    }

    /// Redraws the progress line on standard error, a terminal; nil removes it.
    package static func progress(_ text: String?) {
        let changed = progressLine.withLock { line in
            defer { line = text ?? "" }
            return line != text ?? ""
        }
        if changed { put(clearLine + (text ?? ""), on: STDERR_FILENO) }
    }

    /// A terminal's rows and columns; 24 and 80 if unknown.
    package static func size(_ descriptor: Int32) -> (rows: Int, columns: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return (24, 80) }
        return (size.ws_row > 1 ? Int(size.ws_row) : 24, size.ws_col > 0 ? Int(size.ws_col) : 80)
    }

    /// Columns for a redrawn line: a full last column would wrap.
    package static func columns(_ descriptor: Int32) -> Int { max(20, size(descriptor).columns - 1) }

    /// Prints text without a newline to standard error.
    package static func noteRaw(_ text: String) { put(text, on: STDERR_FILENO) }

    /// Prints one line of JSON.
    package static func json(_ value: some Encodable) throws { write(try JSONLine.text(value) + "\n") }

    package static func json(_ object: JSONObject) throws { write(try JSONLine.text(object) + "\n") }

    /// Waits; true as soon as the reader of standard output has ended. Blocks.
    package static func readerEnds(within time: Duration) -> Bool {
        // Request no event: errors are always reported.
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&output, 1, Int32(clamping: time.milliseconds)) > 0 && Int(output.revents) & Int(POLLERR) != 0
    }

    /// Ends the program like a write to an output without a reader.
    package static func endAsUnread() { onBrokenPipe.withLock { $0 }() }

    /// Whether a descriptor is a terminal, whose lines can be redrawn.
    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// True if texts for people show an error's domain and code (`-v`).
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
                // Another process sharing the terminal made it non-blocking.
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
/// Characters that `PrintableText` escapes are written as escapes, such as `\u202e`, so that they neither affect a
/// terminal nor end a line. The value stays the same.
package enum JSONLine {
    package static func text(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let json = String(decoding: try encoder.encode(value), as: UTF8.self)
        // The encoder has escaped everything below U+0020.
        return json.utf8.contains { $0 >= 0x7F } ? PrintableText.json(json) : json
    }
}
