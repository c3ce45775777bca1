import Foundation
import Glibc

/// Standard output and standard error: the only place that prints.
enum Console {
    /// Results go to standard output, a line each.
    static func line(_ text: String) { put(text + "\n", on: STDOUT_FILENO) }

    /// A text as it is, to standard output.
    static func write(_ text: String) { put(text, on: STDOUT_FILENO) }

    /// Bytes as they are, to standard output.
    static func write(bytes: [UInt8]) { put(bytes, on: STDOUT_FILENO) }

    /// Progress and logs go to standard error.
    static func note(_ text: String) { put(text + "\n", on: STDERR_FILENO) }

    /// A text as it is, to standard error.
    static func noteRaw(_ text: String) { put(text, on: STDERR_FILENO) }

    /// One value as one line of JSON, keys in a fixed order, slashes as they are.
    static func json(_ value: some Encodable) throws { line(try JSONLine.text(value)) }

    /// Whether standard error is a terminal, where a bar may be redrawn.
    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// What ended the command: a line on standard error, or the last line of JSON on standard output.
    static func report(_ error: CommandError, asJSON: Bool) {
        let oneLine = String(error.message.map { $0.isNewline ? " " : $0 })
        if asJSON {
            struct Line: Encodable {
                let error: FailureJSON
            }
            let failure = FailureJSON(domain: error.domain, code: error.code, message: oneLine)
            if let text = try? JSONLine.text(Line(error: failure)) { line(text) }
        } else {
            note("larder: \(oneLine) (\(error.domain) \(error.code))")
        }
    }

    private static func put(_ text: String, on descriptor: Int32) { put(Array(text.utf8), on: descriptor) }

    private static func put(_ bytes: [UInt8], on descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0 {
                if errno == EINTR { continue }
                return  // The reader is gone (`larder … | head`): nobody is left to tell.
            }
            rest = rest.dropFirst(written)
        }
    }
}

/// An error as every JSON output shows it.
struct FailureJSON: Codable, Sendable {
    let domain: String
    let code: Int
    let message: String
}

/// How Larder writes JSON: one line, sorted keys, no escaped slashes.
enum JSONLine {
    static func text(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
