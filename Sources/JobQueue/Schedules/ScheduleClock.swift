import FoundationEssentials

extension PostgresJobQueue {
    /// The time of the database in seconds since 1970, and the offsets of a time zone there.
    ///
    /// Throws `.invalidArgument` for an unknown time zone.
    func clock(
        _ timeZone: String, on connection: Connection? = nil
    ) async throws(QueueError) -> (now: Int64, zone: ZoneOffsets) {
        try await ask(
            "SELECT floor(extract(epoch FROM now_at))::bigint, offsets FROM larder.schedule_clock($1)",
            [.text(timeZone)], on: connection
        ) { rows throws(QueueError) in (rows.integer(0, 0) ?? 0, try ZoneOffsets(json: rows.text(0, 1) ?? "")) }
    }
}

/// The offsets of a time zone from UTC, as `larder.schedule_clock` answers them.
struct ZoneOffsets: Sendable {
    /// From when on an offset holds, in seconds since 1970, and the offset in seconds; ascending.
    private let changes: [(at: Int64, seconds: Int64)]

    /// Throws `.unexpectedAnswer` unless it is a JSON array of pairs.
    init(json: String) throws(QueueError) {
        guard let pairs = try? JSONDecoder().decode([[Int64]].self, from: Data(json.utf8)),
            !pairs.isEmpty, pairs.allSatisfy({ $0.count == 2 })
        else { throw QueueError(.unexpectedAnswer, "the offsets of a time zone are not the JSON that is expected") }
        changes = pairs.map { ($0[0], $0[1]) }
    }

    /// The offset at a time; before the first change the first one.
    func offset(at time: Int64) -> Int64 {
        (changes.last { $0.at <= time } ?? changes[0]).seconds
    }

    /// The time at which clocks show so many seconds after midnight of 1 January 1970. A time that the clock skips is
    /// taken as much later as the clock is moved, one that it repeats at the second occurrence, as in Postgres.
    func time(ofLocal local: Int64) -> Int64 {
        let day: Int64 = 86_400
        let earlier = local - offset(at: local - day)
        let later = local - offset(at: local + day)
        return offset(at: later) == local - later ? later : earlier
    }
}
