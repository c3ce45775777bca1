/// Decides what a worker's claim loop does next. A pure value: it knows counts and answers, no clock and no database.
///
/// Rules: never claim more than free slots; claim again at once while claims bring work; look less and less often
/// while they bring none; once stopping, claim nothing and wait for what runs.
package struct ClaimPolicy: Sendable, Equatable {
    /// What to do next.
    package enum Step: Sendable, Equatable {
        /// Claim up to so many jobs.
        case claim(Int)
        /// Wait for a finished job, a stop, or so long.
        case wait(Duration)
        /// Ask the database whether anything is left that this worker should wait for.
        case look
        /// Leave the loop: nothing runs here any more.
        case leave
    }

    /// Jobs this worker may hold at once.
    package let slots: Int
    /// Whether the loop ends by itself when no work is left.
    package let drains: Bool
    private var inFlight = 0
    private var stopping = false
    private var idleRounds = 0
    private var mayClaim = true
    private var looked = false

    /// The shortest and the longest pause between two claims that bring nothing.
    package static let pauses: ClosedRange<Duration> = .milliseconds(50)...(.seconds(1))

    /// A policy for `slots` slots, at least 1.
    package init(slots: Int, drains: Bool) {
        precondition(slots > 0, "a worker needs a slot")
        self.slots = slots
        self.drains = drains
    }

    /// The next step.
    package var step: Step {
        if stopping { return inFlight == 0 ? .leave : .wait(Self.pauses.upperBound) }
        if inFlight == slots { return .wait(Self.pauses.upperBound) }
        if mayClaim { return .claim(slots - inFlight) }
        if drains && inFlight == 0 && !looked { return .look }
        return .wait(pause)
    }

    /// A claim for `asked` jobs brought `count`.
    package mutating func claimed(_ count: Int, of asked: Int) {
        inFlight += count
        looked = false
        if count == 0 { idleRounds += 1 } else { idleRounds = 0 }
        // A full claim means there is probably more; a short one that the queue is empty for now.
        mayClaim = count == asked
    }

    /// A claim failed: the database is away. Wait before the next.
    package mutating func claimFailed() {
        idleRounds += 1
        mayClaim = false
        looked = true
    }

    /// The look said that something is left to wait for, for `due` at least when known.
    package mutating func stayed() { looked = true }

    /// The wait is over: whatever it brought, claiming makes sense again.
    package mutating func waited() {
        mayClaim = true
        looked = false
    }

    /// `count` jobs were committed and their slots are free.
    package mutating func freed(_ count: Int) {
        inFlight -= count
        if count > 0 { mayClaim = true }
    }

    /// Claim nothing more.
    package mutating func stop() { stopping = true }

    private var pause: Duration {
        let doubled = Self.pauses.lowerBound * Double(1 << min(idleRounds, 10))
        return min(doubled, Self.pauses.upperBound)
    }
}
