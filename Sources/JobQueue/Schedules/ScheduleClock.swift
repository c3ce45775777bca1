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
