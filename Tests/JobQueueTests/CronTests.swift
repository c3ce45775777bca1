import TestSupport
import Testing

@testable import JobQueue

/// `larder_data.cron_next`, by the rules of Vixie's cron.
@Suite(.timeLimit(.minutes(2)))
struct CronTests {
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
    ]

    @Test func `the next times of an expression are those of cron, also when the clock is changed`() async throws {
        let fixture = try await QueueFixture.make()
        for (cron, zone, after, expected) in Self.cases {
            let times = try await fixture.value(
                """
                WITH RECURSIVE next (n, at) AS (
                    SELECT 1, larder_data.cron_next($1, $2, $3::timestamptz)
                    UNION ALL SELECT n + 1, larder_data.cron_next($1, $2, at) FROM next WHERE n < $4
                ) SELECT string_agg(to_char(at AT TIME ZONE $2, 'YYYY-MM-DD HH24:MI'), ', ' ORDER BY n) FROM next
                """, [.text(cron), .text(zone), .text(after + " UTC"), .integer(Int64(expected.count))])
            #expect(times == expected.joined(separator: ", "), "\(cron) \(zone)")
        }
    }

    @Test func `an expression that is not one, or never comes, is refused`() async throws {
        let fixture = try await QueueFixture.make()
        for cron in [
            "", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8",
            "*/0 * * * *",
            "5/2 * * * *", "9-5 * * * *", "a * * * *", "1,,2 * * * *", "-1 * * * *", "* * * foo *", "@reboot",
            "0 0 30 2 *",
        ] {
            await #expect(throws: QueueError.self, "\(cron)") {
                _ = try await fixture.queue.setSchedule(
                    "s", cron: cron, timeZone: "UTC", query: nil, request: EnqueueRequest(urls: ["http://a/1"]))
            }
        }
        #expect(try await fixture.queue.schedules().isEmpty)
    }
}
