import Concurrency

/// Writes lines on its own thread, so that a paused reader (`run --json | less`) does not stop the work.
///
/// At most 10,000 lines wait; further ones are refused or dropped.
package final class Printer: Sendable {
    private struct State {
        var waiting = 0
        var dropped = 0
    }

    private static let limit = 10_000

    private let thread = ThreadPool(name: "printer", threads: 1)
    private let state = Locked(State())

    /// Runs `body` with a printer and returns after all accepted lines are written.
    package static func printing<Value>(_ body: (Printer) async throws -> Value) async throws -> Value {
        let printer = Printer()
        return try await finally(printer.flush) { try await body(printer) }
    }

    /// Prints a line to standard output; false if too many lines wait.
    package func result(_ line: String) -> Bool { submit { Console.line(line) } }

    /// Prints a line to standard error. Dropped, and counted, if too many lines wait.
    package func note(_ line: String) {
        if !submit({ Console.note(line) }) { state.withLock { $0.dropped += 1 } }
    }

    /// Writes a log line, with the same limit as `note`.
    package func log(_ line: String) {
        if !submit({ Console.log(line) }) { state.withLock { $0.dropped += 1 } }
    }

    /// Redraws the progress line. Dropped if too many lines wait.
    package func progress(_ text: String?) { _ = submit { Console.progress(text) } }

    /// Waits until all accepted lines are written, and prints how many were dropped.
    package func flush() async {
        await thread.run {}
        let dropped = state.withLock { $0.dropped }
        guard dropped > 0 else { return }
        await thread.run {
            Console.note("larder: dropped \(dropped.counted("line")): standard output or error was not read")
        }
    }

    private func submit(_ write: @escaping @Sendable () -> Void) -> Bool {
        let hasRoom = state.withLock { state in
            guard state.waiting < Self.limit else { return false }
            state.waiting += 1
            return true
        }
        guard hasRoom else { return false }
        thread.submit { [state] in
            write()
            state.withLock { $0.waiting -= 1 }
        }
        return true
    }
}
