import Concurrency
import Foundation
import Glibc
import ImageModel
import JobQueue

/// Standard output and standard error: the only place that prints.
enum Console {
    /// The first `errno` of a write to standard output that failed although its reader was there, else 0.
    private static let fault = Locked<Int32>(0)

    /// What kept standard output from being written; nil when all went well or the reader had enough (`… | head`).
    static var failure: CommandError? {
        let code = fault.withLock { $0 }
        return code == 0 ? nil : .larder(2, "cannot write to standard output: \(String(cString: strerror(code)))")
    }

    /// Results go to standard output, a line each.
    static func line(_ text: String) { put(text + "\n", on: STDOUT_FILENO) }

    /// A text as it is, to standard output.
    static func write(_ text: String) { put(text, on: STDOUT_FILENO) }

    /// Progress and logs go to standard error.
    static func note(_ text: String) { put(text + "\n", on: STDERR_FILENO) }

    /// A text as it is, to standard error.
    static func noteRaw(_ text: String) { put(text, on: STDERR_FILENO) }

    /// One value as one line of JSON, keys in a fixed order, slashes as they are.
    static func json(_ value: some Encodable) throws { line(try JSONLine.text(value)) }

    /// A result as the command was asked to tell it: as JSON, or as a line of text.
    static func show(_ value: some Encodable, _ arguments: Arguments, _ text: @autoclosure () -> String) throws {
        if arguments.flag("json") { try json(value) } else { line(text()) }
    }

    /// Whether a descriptor is a terminal, where a bar may be redrawn.
    static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// What ended the command: a line on standard error, or the last line of JSON on standard output.
    static func report(_ error: CommandError, asJSON: Bool) {
        let oneLine = String(error.message.map { $0.isNewline ? " " : $0 })
        if asJSON {
            struct Line: Encodable {
                let error: FailureReason
            }
            let failure = FailureReason(domain: error.domain, code: error.code, message: oneLine)
            if let text = try? JSONLine.text(Line(error: failure)) { line(text) }
        } else {
            note("larder: \(oneLine) (\(error.domain) \(error.code))")
        }
    }

    private static func put(_ text: String, on descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written >= 0 {
                rest = rest.dropFirst(written)
            } else if errno == EAGAIN {
                // Somebody who shares the terminal made it non-blocking.
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if errno != EINTR {
                let code = errno
                // With a broken pipe, or without standard error, nobody is left to tell.
                if descriptor == STDOUT_FILENO && code != EPIPE { fault.withLock { $0 = $0 == 0 ? code : $0 } }
                return
            }
        }
    }
}

/// How Larder writes JSON: one line, sorted keys, no escaped slashes.
enum JSONLine {
    static func text(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
