import Concurrency

/// Hands lines to one thread that writes them, so that a reader who pauses (`run --json … | less`) stops nobody's work.
///
/// What waits is bounded: a line that finds no room is refused or dropped, never waited for.
final class Printer: Sendable {
    private struct State {
        var waiting = 0
        var dropped = 0
    }

    private static let room = 10_000

    private let thread = ThreadPool(name: "printer", threads: 1)
    private let state = Locked(State())

    /// Runs `body` with a printer, and comes back when everything it took is written.
    static func printing<Value>(_ body: (Printer) async throws -> Value) async throws -> Value {
        let printer = Printer()
        do {
            let value = try await body(printer)
            await printer.flush()
            return value
        } catch {
            await printer.flush()
            throw error
        }
    }

    /// A line for standard output; false when there was no room for it.
    func result(_ line: String) -> Bool { take { Console.line(line) } }

    /// A line for standard error; one that finds no room is dropped, and counted.
    func note(_ line: String) {
        if !take({ Console.note(line) }) { state.withLock { $0.dropped += 1 } }
    }

    /// Text for standard error that the next one replaces: nobody misses it.
    func progress(_ text: String) { _ = take { Console.noteRaw(text) } }

    /// Waits until everything that was taken is written, and tells what was dropped.
    func flush() async {
        await thread.run {}
        let dropped = state.withLock { $0.dropped }
        guard dropped > 0 else { return }
        await thread.run {
            Console.note("larder: dropped \(dropped.counted("line")): standard output or error was not read")
        }
    }

    private func take(_ write: @escaping @Sendable () -> Void) -> Bool {
        let hasRoom = state.withLock { state in
            guard state.waiting < Self.room else { return false }
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
