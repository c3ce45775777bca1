import Glibc

/// A cron expression: minute, hour, day, month and weekday, by the rules of Vixie cron.
///
/// If day and weekday are both restricted, either may match. When clocks change, a time with a fixed hour runs once: a
/// skipped time one hour later, a repeated time at its second occurrence. With `*` as the hour every real minute
/// counts. `L` is the last day of the month.
struct CronExpression: Sendable {
    private let minutes, hours, days, months, weekdays: Set<Int>
    /// `isEachHour`: the hour begins with `*`. `isEither`: a day matches by day or weekday.
    private let isEachHour, isEither: Bool
    private let text: String

    private static let words = [
        "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
        "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
    ]
    private static let monthNames = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
    private static let weekdayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
    /// The last day of a month.
    private static let last = 0

    /// Throws `.invalidArgument` naming the field.
    init(_ text: String) throws(QueueError) {
        let lowered = text.lowercased().split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let fields = (Self.words[lowered] ?? lowered).split(separator: " ").map(String.init)
        guard fields.count == 5 else {
            throw QueueError(
                .invalidArgument,
                "cron: \"\(text)\" does not have five fields: minute hour day month weekday, such as 0 2 * * * for "
                    + "02:00 each day, nor is it @hourly, @daily, @weekly, @monthly or @yearly")
        }
        self.text = text
        minutes = try Self.numbers(fields[0], 0...59)
        hours = try Self.numbers(fields[1], 0...23)
        days = try Self.numbers(fields[2], 1...31, isDay: true)
        months = try Self.numbers(fields[3], 1...12, Self.monthNames)
        // 7 is Sunday too.
        weekdays = Set(try Self.numbers(fields[4], 0...7, Self.weekdayNames).map { $0 % 7 })
        isEachHour = fields[1].hasPrefix("*")
        isEither = !fields[2].hasPrefix("*") && !fields[4].hasPrefix("*")
    }

    private static func numbers(
        _ field: String, _ range: ClosedRange<Int>, _ names: [String] = [], isDay: Bool = false
    ) throws(QueueError) -> Set<Int> {
        func digits(_ text: Substring) -> Int? {
            text.utf8.count <= 2 && text.utf8.allSatisfy { (48...57).contains($0) } ? Int(text) : nil
        }
        func number(_ text: Substring) -> Int? {
            if let place = names.firstIndex(of: String(text)) { return range.lowerBound + place }
            return digits(text).flatMap { range.contains($0) ? $0 : nil }
        }
        var found: Set<Int> = []
        for item in field.split(separator: ",", omittingEmptySubsequences: false) {
            if isDay, item == "l" {
                found.insert(last)
                continue
            }
            let parts = item.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            let bounds = parts[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map(number)
            let isAll = parts[0] == "*"
            let step = parts.count == 1 ? 1 : digits(parts[1]) ?? 0
            guard let low = isAll ? range.lowerBound : bounds[0],
                let high = isAll ? range.upperBound : bounds[bounds.count - 1],
                low <= high, step > 0, parts.count == 1 || isAll || bounds.count == 2
            else {
                let form = "*, N, N-M, */STEP or N-M/STEP with numbers from \(range.lowerBound) to \(range.upperBound)"
                throw QueueError(
                    .invalidArgument, "cron: \"\(field)\" is not \(form)\(isDay ? ", or L for the last day" : "")")
            }
            found.formUnion(stride(from: low, through: high, by: step))
        }
        return found
    }

    /// The next time after `time`, in seconds since 1970, within eight years. Throws `.invalidArgument` if there is
    /// none.
    func next(after time: Int64, in zone: ZoneOffsets) throws(QueueError) -> Int64 {
        let day: Int64 = 86_400
        var midnight = time + zone.offset(at: time)
        midnight -= (midnight % day + day) % day
        for start in stride(from: midnight, through: midnight + 8 * 366 * day, by: Int(day)) where matches(start) {
            let found =
                isEachHour ? nextMinute(of: start, after: time, in: zone) : nextTime(of: start, after: time, in: zone)
            if let found { return found }
        }
        throw QueueError(.invalidArgument, "cron: \"\(text)\" never comes")
    }

    /// The times after `due` up to now, at most 1,000, and the first one after now.
    func following(_ due: Int64?, now: Int64, in zone: ZoneOffsets) throws(QueueError) -> (missed: Int, next: Int64) {
        var missed = 0
        if let due {
            var time = try next(after: due, in: zone)
            while time <= now, missed < 1_000 {
                missed += 1
                time = try next(after: time, in: zone)
            }
        }
        return (missed, try next(after: now, in: zone))
    }

    private func matches(_ midnight: Int64) -> Bool {
        func date(_ time: Int64) -> tm {
            var seconds = time_t(time)
            var parts = tm()
            gmtime_r(&seconds, &parts)
            return parts
        }
        let parts = date(midnight)
        guard months.contains(Int(parts.tm_mon) + 1) else { return false }
        let isDay =
            days.contains(Int(parts.tm_mday)) || days.contains(Self.last) && date(midnight + 86_400).tm_mday == 1
        let isWeekday = weekdays.contains(Int(parts.tm_wday))
        return isEither ? isDay || isWeekday : isDay && isWeekday
    }

    /// With fixed hours: each occurs once.
    private func nextTime(of midnight: Int64, after time: Int64, in zone: ZoneOffsets) -> Int64? {
        hours.lazy.flatMap { hour in minutes.lazy.map { Int64(hour * 3_600 + $0 * 60) } }
            .map { zone.time(ofLocal: midnight + $0) }.filter { $0 > time }.min()
    }

    /// With every hour: each real minute of the day.
    private func nextMinute(of midnight: Int64, after time: Int64, in zone: ZoneOffsets) -> Int64? {
        let start = zone.time(ofLocal: midnight)
        let first = time < start ? start : start + ((time - start) / 60 + 1) * 60
        return stride(from: first, to: zone.time(ofLocal: midnight + 86_400), by: 60).first { minute in
            let local = minute + zone.offset(at: minute) - midnight
            return minutes.contains(Int(local % 3_600 / 60)) && hours.contains(Int(local / 3_600))
        }
    }
}
