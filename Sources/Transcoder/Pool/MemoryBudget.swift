internal import Concurrency

/// The pure part of `MemoryBudget`: who may begin, in the order of asking.
package struct MemoryReservations: Sendable {
    /// What all may take together, in bytes.
    package let total: Int
    /// What those at work have asked for.
    package private(set) var used = 0
    private var waiting: [UInt64] = []
    private var nextTicket: UInt64 = 0

    package init(total: Int) { self.total = total }

    /// A place at the end of the queue.
    package mutating func join() -> UInt64 {
        nextTicket += 1
        waiting.append(nextTicket)
        return nextTicket
    }

    /// True when the first in the queue may begin now: there is room, or nobody else is at work.
    package mutating func enter(_ ticket: UInt64, bytes: Int) -> Bool {
        guard waiting.first == ticket, used == 0 || used + bytes <= total else { return false }
        waiting.removeFirst()
        used += bytes
        return true
    }

    /// Leaves the queue.
    package mutating func leave(_ ticket: UInt64) { waiting.removeAll { $0 == ticket } }

    /// Gives back what was entered with.
    package mutating func giveBack(_ bytes: Int) { used -= bytes }
}

/// Memory for the pictures of all children of a pool: those that need much wait for each other.
final class MemoryBudget: Sendable {
    private let ledger: ConditionLock<MemoryReservations>

    init(total: Int) { ledger = ConditionLock(MemoryReservations(total: total)) }

    /// Waits for `bytes`, blocking the thread; false when `isGivenUp` says so, which is asked after each `wake`.
    func take(_ bytes: Int, isGivenUp: () -> Bool) -> Bool {
        var ticket: UInt64?
        // Whoever leaves the queue, this way or that, may have stood before one that fits.
        defer { wake() }
        return ledger.wait { ledger in
            let mine = ticket ?? ledger.join()
            ticket = mine
            if isGivenUp() {
                ledger.leave(mine)
                return false
            }
            return ledger.enter(mine, bytes: bytes) ? true : nil
        }
    }

    func giveBack(_ bytes: Int) { ledger.change(wakingAll: true) { $0.giveBack(bytes) } }

    /// Makes every waiter look again.
    func wake() { ledger.change(wakingAll: true) { _ in } }

    /// Three quarters of what this machine, or the control group it is in, has.
    static let ofMachine = MachineMemory.bytes() / 4 * 3
}
