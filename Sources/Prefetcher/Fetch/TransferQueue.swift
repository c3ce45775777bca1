/// Which waiting transfer may start: so many in all, so many per origin, otherwise in the order of asking.
///
/// A transfer whose origin is full does not hold up those of other origins behind it.
struct TransferQueue {
    private struct Lane {
        var running = 0
        var multiplexed = false
        var waiting: [UInt64] = []
    }

    private let total: Int
    private let perOrigin: Int
    private let streams: Int
    private var running = 0
    private var lanes: [Origin: Lane] = [:]
    private var origins: [UInt64: Origin] = [:]

    init(total: Int, perOrigin: Int, streams: Int) {
        precondition(total > 0 && perOrigin > 0 && streams > 0, "a limit of transfers is at least 1")
        self.total = total
        self.perOrigin = perOrigin
        self.streams = streams
    }

    /// How many wait.
    var waitingCount: Int { origins.count }

    /// `ticket`, larger than all before, waits for a transfer to `origin`.
    mutating func ask(_ ticket: UInt64, _ origin: Origin) {
        lanes[origin, default: Lane()].waiting.append(ticket)
        origins[ticket] = origin
    }

    /// Takes the ticket that may start now; its origin's place is then taken until `finish`.
    mutating func next() -> UInt64? {
        guard running < total else { return nil }
        // A handful of origins at a time: a scan is cheaper than keeping an order of orders.
        let open = lanes.filter { $0.value.running < ($0.value.multiplexed ? streams : perOrigin) }
        guard
            let (origin, ticket) = open.compactMap({ lane in lane.value.waiting.first.map { (lane.key, $0) } })
                .min(by: { $0.1 < $1.1 })
        else { return nil }
        lanes[origin]?.waiting.removeFirst()
        lanes[origin]?.running += 1
        running += 1
        origins[ticket] = nil
        return ticket
    }

    /// A transfer to `origin` has ended. `multiplexed`: its answer came over HTTP/2, so more may share a connection.
    mutating func finish(_ origin: Origin, multiplexed: Bool) {
        running -= 1
        lanes[origin]?.running -= 1
        if multiplexed { lanes[origin]?.multiplexed = true }
        forget(origin)
    }

    /// Takes a waiting ticket out; false when it no longer waits.
    mutating func leave(_ ticket: UInt64) -> Bool {
        guard let origin = origins.removeValue(forKey: ticket) else { return false }
        lanes[origin]?.waiting.removeAll { $0 == ticket }
        forget(origin)
        return true
    }

    private mutating func forget(_ origin: Origin) {
        if let lane = lanes[origin], lane.running == 0 && lane.waiting.isEmpty { lanes[origin] = nil }
    }
}
