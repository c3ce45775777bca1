/// Which waiting transfer may start: so many in all, so many per origin, otherwise by priority or in the order of asking.
///
/// A transfer whose origin is full does not hold up those of other origins behind it.
struct TransferQueue {
    private struct Waiting {
        let ticket: UInt64
        let priority: FetchPriority
    }

    private struct Lane {
        var running = 0
        var multiplexed = false
        /// In the order of asking.
        var waiting: [Waiting] = []

        /// The position of the one to start next.
        func next(_ order: ExecutionOrder) -> Int? {
            switch order {
            case .lifo: waiting.indices.last
            // The first of the highest priority: `max` gives the first of equals.
            case .fifo: waiting.indices.max { waiting[$0].priority < waiting[$1].priority }
            }
        }
    }

    private let total: Int
    private let perOrigin: Int
    private let streams: Int
    private let order: ExecutionOrder
    private var running = 0
    private var lanes: [Origin: Lane] = [:]
    private var origins: [UInt64: Origin] = [:]

    init(total: Int, perOrigin: Int, streams: Int, order: ExecutionOrder = .fifo) {
        precondition(total > 0 && perOrigin > 0 && streams > 0, "a limit of transfers is at least 1")
        self.total = total
        self.perOrigin = perOrigin
        self.streams = streams
        self.order = order
    }

    /// How many wait.
    var waitingCount: Int { origins.count }

    /// `ticket`, larger than all before, waits for a transfer to `origin`.
    mutating func ask(_ ticket: UInt64, _ origin: Origin, _ priority: FetchPriority = .normal) {
        lanes[origin, default: Lane()].waiting.append(Waiting(ticket: ticket, priority: priority))
        origins[ticket] = origin
    }

    /// Takes the ticket that may start now; its origin's place is then taken until `finish`.
    mutating func next() -> UInt64? {
        guard running < total, !origins.isEmpty else { return nil }
        var best: (origin: Origin, position: Int, waiting: Waiting)?
        // A handful of origins at a time: a scan is cheaper than keeping an order of orders.
        for (origin, lane) in lanes where lane.running < (lane.multiplexed ? streams : perOrigin) {
            guard let position = lane.next(order) else { continue }
            let waiting = lane.waiting[position]
            if best.map({ precedes(waiting, $0.waiting) }) ?? true { best = (origin, position, waiting) }
        }
        guard let best else { return nil }
        lanes[best.origin]?.waiting.remove(at: best.position)
        lanes[best.origin]?.running += 1
        running += 1
        origins[best.waiting.ticket] = nil
        return best.waiting.ticket
    }

    /// A transfer to `origin` has ended. `multiplexed`: its answer came over HTTP/2, so more may share a connection.
    mutating func finish(_ origin: Origin, multiplexed: Bool) {
        running -= 1
        lanes[origin]?.running -= 1
        if multiplexed { lanes[origin]?.multiplexed = true }
        forget(origin)
    }

    /// HTTP/2 is no longer spoken with this origin: a connection serves one transfer at a time.
    mutating func forgetStreams(_ origin: Origin) { lanes[origin]?.multiplexed = false }

    /// Takes a waiting ticket out; false when it no longer waits.
    mutating func leave(_ ticket: UInt64) -> Bool {
        guard let origin = origins.removeValue(forKey: ticket) else { return false }
        lanes[origin]?.waiting.removeAll { $0.ticket == ticket }
        forget(origin)
        return true
    }

    private func precedes(_ a: Waiting, _ b: Waiting) -> Bool {
        switch order {
        case .lifo: a.ticket > b.ticket
        case .fifo: a.priority == b.priority ? a.ticket < b.ticket : a.priority > b.priority
        }
    }

    private mutating func forget(_ origin: Origin) {
        if let lane = lanes[origin], lane.running == 0 && lane.waiting.isEmpty { lanes[origin] = nil }
    }
}
