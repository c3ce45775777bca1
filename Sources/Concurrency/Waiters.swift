/// Suspended tasks by ticket, with the state that decides when each continues.
///
/// `AsyncEvent`, `AsyncSemaphore` and `SingleFlight` wrap a pure state with this: every method changes the state under
/// the lock and then resumes tasks.
package final class Waiters<State: Sendable, Answer: Sendable>: Sendable {
    /// Identifies a waiting task; later tickets are greater.
    package typealias Ticket = UInt64

    private struct Contents {
        var state: State
        var lastTicket: Ticket = 0
        var suspended: [Ticket: CheckedContinuation<Answer, Never>] = [:]
    }

    private let contents: Locked<Contents>

    package init(_ state: State) { contents = Locked(Contents(state: state)) }

    /// Reads the state, or changes it without resuming a task.
    package func withState<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        contents.withLock { body(&$0.state) }
    }

    /// Changes the state and resumes the tasks whose tickets `body` returns.
    package func resume(_ body: (inout State) -> [(ticket: Ticket, answer: Answer)]) {
        let resumed = contents.withLock { contents in
            body(&contents.state).map { (contents.suspended.removeValue(forKey: $0.ticket), $0.answer) }
        }
        for (continuation, answer) in resumed { continuation?.resume(returning: answer) }
    }

    /// Returns the answer of `enter`, or suspends the calling task until `resume` has an answer for its ticket.
    ///
    /// A task cancelled earlier gets `cancelled`; `leave` then removes its ticket from the state. `entered` runs after
    /// `enter`, outside the lock: whatever it starts finds the ticket in the state.
    package func wait(
        cancelled: Answer, enter: (inout State, Ticket) -> Answer?,
        leave: @escaping @Sendable (inout State, Ticket) -> Void, entered: () -> Void = {}
    ) async -> Answer {
        let ticket = contents.withLock { contents in
            contents.lastTicket += 1
            return contents.lastTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Answer? = contents.withLock { contents in
                    // The handler below may already have run, without a continuation to resume.
                    if Task.isCancelled { return cancelled }
                    if let answer = enter(&contents.state, ticket) { return answer }
                    contents.suspended[ticket] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
                entered()
            }
        } onCancel: {
            let continuation = contents.withLock { contents in
                let continuation = contents.suspended.removeValue(forKey: ticket)
                if continuation != nil { leave(&contents.state, ticket) }
                return continuation
            }
            continuation?.resume(returning: cancelled)
        }
    }
}
