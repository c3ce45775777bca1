import FoundationEssentials
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(2)))
struct CronTests {
    private static let zones = [
        "UTC": "[[0, 0]]", "Asia/Kolkata": "[[0, 19800]]",
        "Europe/Berlin":
            "[[1761440400, 3600], [1774746000, 7200], [1792890000, 3600], [1806195600, 7200], [1824944400, 3600]]",
        // The clock skips midnight on 6 September and repeats the hour before midnight on 4 April.
        "America/Santiago": "[[1757217600, -10800], [1775358000, -14400], [1788667200, -10800]]",
        // Moved by half an hour.
        "Australia/Lord_Howe": "[[1759591800, 39600], [1775314800, 37800], [1791041400, 39600]]",
    ]

    /// After a time in UTC, the next ones in the zone's own time.
    private static let cases: [(cron: String, zone: String, after: String, next: [String])] = [
        ("0 2 * * *", "UTC", "2026-11-24 02:00", ["2026-11-25 02:00", "2026-11-26 02:00"]),
        ("0 2 * * *", "UTC", "2026-11-24 01:59:59.9", ["2026-11-24 02:00"]),
        ("*/20 * * * *", "UTC", "2026-11-24 02:05", ["2026-11-24 02:20", "2026-11-24 02:40", "2026-11-24 03:00"]),
        (
            "10-20/5,59 23 31 12 *", "UTC", "2026-01-01",
            ["2026-12-31 23:10", "2026-12-31 23:15", "2026-12-31 23:20", "2026-12-31 23:59"]
        ),
        ("0 0 29 2 *", "UTC", "2026-01-01", ["2028-02-29 00:00", "2032-02-29 00:00"]),
        // The day or the weekday when both are restricted; 0 and 7 are Sunday.
        ("0 0 13 * 5", "UTC", "2026-11-08", ["2026-11-13 00:00", "2026-11-20 00:00"]),
        ("0 12 * * 7", "UTC", "2026-11-24", ["2026-11-29 12:00"]),
        ("0 12 * * 5-7", "UTC", "2026-11-28 13:00", ["2026-11-29 12:00"]),
        ("0 9 * jan,MAR mon-fri", "UTC", "2026-11-24", ["2027-01-01 09:00", "2027-01-04 09:00"]),
        ("@hourly", "UTC", "2026-11-24 02:30", ["2026-11-24 03:00"]),
        ("@weekly", "UTC", "2026-11-24", ["2026-11-29 00:00"]),
        ("@monthly", "UTC", "2026-11-24", ["2026-12-01 00:00"]), ("@yearly", "UTC", "2026-11-24", ["2027-01-01 00:00"]),
        // L is the last day of a month, in leap years, too.
        (
            "0 0 L * *", "UTC", "2028-01-31",
            ["2028-02-29 00:00", "2028-03-31 00:00", "2028-04-30 00:00", "2028-05-31 00:00"]
        ),
        ("0 0 15,L 2 *", "UTC", "2100-01-01", ["2100-02-15 00:00", "2100-02-28 00:00", "2101-02-15 00:00"]),
        ("0 0 L * fri", "UTC", "2026-11-24", ["2026-11-27 00:00", "2026-11-30 00:00", "2026-12-04 00:00"]),
        ("0 0 29 2 *", "UTC", "2097-01-01", ["2104-02-29 00:00"]),
        ("30 7 * * *", "Asia/Kolkata", "2026-11-24 02:00", ["2026-11-25 07:30"]),
        // Spring: 02:30 is skipped on 29 March, and taken an hour later.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28 12:00", ["2026-03-29 03:30", "2026-03-30 02:30"]),
        ("30 * * * *", "Europe/Berlin", "2026-03-29 00:00", ["2026-03-29 01:30", "2026-03-29 03:30"]),
        // Autumn: 02:30 comes twice on 25 October.
        ("30 2 * * *", "Europe/Berlin", "2026-10-24 12:00", ["2026-10-25 02:30", "2026-10-26 02:30"]),
        (
            "30 * * * *", "Europe/Berlin", "2026-10-24 23:00",
            ["2026-10-25 01:30", "2026-10-25 02:30", "2026-10-25 02:30", "2026-10-25 03:30"]
        ),
        ("0 0 * * *", "America/Santiago", "2026-09-05 12:00", ["2026-09-06 01:00", "2026-09-07 00:00"]),
        ("30 23 * * *", "America/Santiago", "2026-04-04 12:00", ["2026-04-04 23:30", "2026-04-05 23:30"]),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00", ["2026-10-04 02:45", "2026-10-05 02:15"]),
    ]

    /// A time that is written in UTC, with seconds or without a time of day, in seconds since 1970.
    private func time(_ text: String) throws -> Int64 {
        let given = text.prefix(19).replacing(" ", with: "T")
        let whole = given + "0000-00-00T00:00:00".dropFirst(given.count) + "Z"
        return Int64(try Date(String(whole), strategy: .iso8601).timeIntervalSince1970)
    }

    @Test func `the next times of an expression equal cron's, also when the clock is changed`() throws {
        for (cron, zone, after, expected) in Self.cases {
            let offsets = try ZoneOffsets(json: #require(Self.zones[zone]))
            var (at, times) = (try time(after), [String]())
            for _ in expected {
                at = try CronExpression(cron).next(after: at, in: offsets)
                let local = UTCTime(microseconds: (at + offsets.offset(at: at)) * 1_000_000).iso8601
                times.append(String(local.prefix(16).replacing("T", with: " ")))
            }
            #expect(times == expected, "\(cron) \(zone)")
        }
    }

    @Test(arguments: [
        "", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8",
        "*/0 * * * *", "*/+5 * * * *", "5/2 * * * *", "9-5 * * * *", "a * * * *", "1,,2 * * * *", "-1 * * * *",
        "* * * foo *", "@reboot", "* L * * *", "* * L-3 * *", "0 0 30 2 *", "0 0 * jan1 *",
    ])
    func `an expression that is not one, or never comes, is refused`(cron: String) throws {
        #expect(throws: QueueError.self) {
            _ = try CronExpression(cron).next(after: 1_792_890_000, in: ZoneOffsets(json: "[[0, 0]]"))
        }
    }

    @Test func `of a late run the further times until now are counted, at most a thousand`() throws {
        let (utc, hourly) = (try ZoneOffsets(json: "[[0, 0]]"), try CronExpression("@hourly"))
        let now = try time("2026-11-24 02:30")
        for (due, missed) in [(nil, 0), (now - 1, 0), (now - 3_600, 1), (now - 5 * 3_600, 5), (0, 1_000)] {
            let found = try hourly.following(due, now: now, in: utc)
            #expect(found.missed == missed)
            #expect(found.next == now + 1_800)
        }
    }

    @Test func `the offsets of a zone are those by which Postgres shifts a time`() async throws {
        let fixture = try await QueueFixture.make()
        for zone in ["Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"] {
            let offsets = try ZoneOffsets(
                json: #require(try await fixture.value("SELECT offsets FROM larder.schedule_clock('\(zone)')")))
            let rows = try await fixture.sql(
                """
                SELECT extract(epoch FROM t)::bigint, extract(epoch FROM t AT TIME ZONE '\(zone)')::bigint,
                    extract(epoch FROM (t AT TIME ZONE 'UTC') AT TIME ZONE '\(zone)')::bigint
                FROM generate_series(now() - interval '300 days', now() + interval '8 years', '7 h 10 min') AS t
                """)
            for row in rows {
                let numbers = row.compactMap { $0.flatMap { Int64($0) } }
                try #require(numbers.count == 3)
                #expect(numbers[0] + offsets.offset(at: numbers[0]) == numbers[1])
                #expect(offsets.time(ofLocal: numbers[0]) == numbers[2], "\(zone) \(numbers[0])")
            }
        }
        let error = await #expect(throws: QueueError.self) {
            try await fixture.sql("SELECT larder.schedule_clock('x')")
        }
        #expect(error?.message == "unknown time zone \"x\"")
    }
}
