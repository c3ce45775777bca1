import FoundationEssentials

extension PostgresJobQueue {
    /// The database's time in seconds since 1970, and the offsets of a time zone.
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

/// A time zone's offsets from UTC, from `larder.schedule_clock`.
struct ZoneOffsets: Sendable {
    /// Start of each offset in seconds since 1970, and the offset in seconds; ascending.
    private let changes: [(at: Int64, seconds: Int64)]

    /// Throws `.unexpectedAnswer` unless it is a JSON array of pairs.
    init(json: String) throws(QueueError) {
        guard let pairs = try? JSONDecoder().decode([[Int64]].self, from: Data(json.utf8)),
            !pairs.isEmpty, pairs.allSatisfy({ $0.count == 2 })
        else { throw QueueError(.unexpectedAnswer, "the offsets of a time zone are not the JSON that is expected") }
        changes = pairs.map { ($0[0], $0[1]) }
    }

    /// The offset at a time; before the first change, the first offset.
    func offset(at time: Int64) -> Int64 {
        (changes.last { $0.at <= time } ?? changes[0]).seconds
    }

    /// The time for a local time in seconds since 1970. As in Postgres, a skipped local time is moved forward by the
    /// clock change, and a repeated one is its second occurrence.
    func time(ofLocal local: Int64) -> Int64 {
        let day: Int64 = 86_400
        let earlier = local - offset(at: local - day)
        let later = local - offset(at: local + day)
        return offset(at: later) == local - later ? later : earlier
    }
}
