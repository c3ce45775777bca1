import JobQueue

/// A schedule as a line of text.
enum ScheduleLine {
    static func text(_ schedule: Schedule) -> String {
        var parts = ["\(schedule.cron) \(schedule.timeZone)"]
        parts.append(schedule.urls.map { $0.counted("URL") } ?? "query")
        parts.append(schedule.isPaused ? "paused" : "next at \(schedule.nextAt ?? "")")
        if let at = schedule.lastAt {
            let result =
                schedule.lastError
                ?? "\(Int(schedule.lastURLs ?? 0).counted("URL")) in batch \(schedule.lastBatch ?? 0)"
            parts.append("last at \(at): \(result)")
        }
        if schedule.missed > 0 { parts.append("\(Int(schedule.missed).counted("run")) missed") }
        return PrintableText.text("\(schedule.name): " + parts.joined(separator: ", "))
    }
}
